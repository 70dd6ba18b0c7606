"""A device that nobody here has: values lie on the CPU, under the name of a GPU.

A tensor of it refuses to meet one of the CPU in an operation, as on a real GPU; so code that makes
a tensor on the wrong device, or forgets to move one, fails here, too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

GPU = torch.device("cuda", 0)
COPIES = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)


class MixedDevices(RuntimeError):
    """Tensors of two devices met in one operation."""


class Pretended(Tensor):
    """A tensor on the GPU; ``held`` has its values."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> Pretended:
        return torch.Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device="meta",  # autograd asks a real device for its streams
        )

    def __init__(self, held: Tensor) -> None:
        self.held = held

    @property
    def device(self) -> torch.device:
        """What code is told."""
        return GPU

    @property
    def is_cuda(self) -> bool:
        """What code is told."""
        return True

    def __reduce_ex__(self, protocol: Any) -> Any:
        """In a file it lies as on the CPU."""
        return self.held.__reduce_ex__(protocol)

    def __deepcopy__(self, memo: Any) -> Pretended:
        return Pretended(self.held.clone())

    def __repr__(self, **_: Any) -> str:
        return f"Pretended({self.held})"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (Tensor.tolist, Tensor.untyped_storage, Tensor.data_ptr):
            return func(args[0].held)
        if func is Tensor.data.__get__:
            return args[0].detach()
        if func in (Tensor.numpy, Tensor.__array__):
            raise TypeError("can't convert a tensor of the GPU to numpy; use Tensor.cpu() first")
        with torch._C.DisableTorchFunctionSubclass():  # which would call what comes back Pretended
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


def _is_gpu(value: Any) -> bool:
    return isinstance(value, torch.device | str) and str(value).split(":")[0] in ("cuda", "meta")


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, Tensor)]
    there = [x for x in given if isinstance(x, Pretended)]
    strangers = [x for x in given if not isinstance(x, Pretended)]
    if func not in COPIES and there and any(x.dim() > 0 for x in strangers):
        raise MixedDevices(f"{func}: expected all tensors on one device; got {GPU} and cpu")
    asked = kwargs.get("device")
    on_gpu = _is_gpu(asked) if asked is not None else bool(there)
    if func is torch.ops.aten.copy_.default:
        on_gpu = isinstance(args[0], Pretended)

    def held(x: Any) -> Any:
        return x.held if isinstance(x, Pretended) else torch.device("cpu") if _is_gpu(x) else x

    found = func(*tree_map(held, args), **tree_map(held, kwargs))
    if not on_gpu:
        return found
    mine = {id(x.held): x for x in there}  # what an operation in place gives back

    def wrapped(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        return mine[id(x)] if id(x) in mine else Pretended(x)

    return tree_map(wrapped, found)


class _Numbered(TorchFunctionMode):
    """`cuda` alone would ask the driver which GPU is the current one."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = tree_map(lambda x: GPU if _is_gpu(x) else x, (args, kwargs or {}))
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") == GPU:
            return func(*args, **{**kwargs, "device": "cpu"}).to(GPU)
        return func(*args, **kwargs)


class _Pretending(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


@contextlib.contextmanager
def pretended_gpu() -> Iterator[dict[str, int]]:
    """A block in which there is a GPU; counts what it was asked for."""
    asked = {"peak memory reset": 0}

    def reset(*_: Any) -> None:
        asked["peak memory reset"] += 1

    there = {
        "_lazy_init": lambda: None,
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda *_: None,
        "get_device_properties": lambda *_: SimpleNamespace(total_memory=80 * 10**9),
        "get_device_name": lambda *_: "a pretended GPU",
        "is_bf16_supported": lambda **_: True,
        "max_memory_allocated": lambda *_: 12345,
        "reset_peak_memory_stats": reset,
        "manual_seed_all": lambda *_: None,
        "empty_cache": lambda: None,
        "synchronize": lambda *_: None,
    }
    with contextlib.ExitStack() as stack:
        for name, value in there.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, value))
        # A build for CUDA would pin memory and ask for the stream, without a driver.
        stack.enter_context(
            mock.patch.object(torch.accelerator, "is_available", return_value=False)
        )
        for name, value in (("get_rng_state", torch.get_rng_state), ("set_rng_state", None)):
            quiet = value or (lambda *_: None)
            stack.enter_context(mock.patch.object(torch.cuda.random, name, lambda *_, f=quiet: f()))
        stack.enter_context(_Numbered())
        stack.enter_context(_Pretending())
        yield asked

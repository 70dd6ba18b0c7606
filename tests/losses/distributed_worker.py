"""Run by test_distributed.py in each process: gradients of several processes against one."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.distributed.tensor.experimental import implicit_replication
from torch.nn.parallel import DistributedDataParallel

from dicebook import (
    BinaryDiceLoss,
    CrossEntropyLoss,
    DiceLoss,
    MultiLabelDiceLoss,
    SelfAdjustingDiceLoss,
    TverskyLoss,
    WeightedSum,
    backward_in_two_passes,
)
from dicebook.losses.modules import SetLoss

SPLITS = [(85, 86, 86), (3, 200, 54), (0, 0, 257)]
LOSSES: dict[str, Callable[..., SetLoss]] = {
    "dice": lambda **o: DiceLoss(squared=True, **o),
    "tversky": lambda **o: TverskyLoss(fp_weight=0.3, fn_weight=0.7, classes=[1, 2, 4], **o),
    "self-adjusting": lambda **o: SelfAdjustingDiceLoss(absent="skip", **o),
    "no smoothing": lambda **o: SelfAdjustingDiceLoss(smooth=0, weight=torch.rand(5), **o),
    "binary": lambda **o: BinaryDiceLoss(**o),
    "multi-label": lambda **o: MultiLabelDiceLoss(alpha=0.1, weight=[1, 2, 3, 4, 5], **o),
    "multi-label, micro": lambda **o: MultiLabelDiceLoss(average="micro", **o),
}
SHARDED: dict[str, Callable[..., nn.Module]] = {
    **{name: LOSSES[name] for name in ("dice", "tversky", "self-adjusting", "multi-label")},
    "sum": lambda **o: WeightedSum(DiceLoss(**o), TverskyLoss(**o), second_weight=2.0),
}


DTENSOR: dict[str, Callable[..., nn.Module]] = {
    "dice": DiceLoss,
    "linear": lambda: DiceLoss(squared=False),
    "cross entropy": CrossEntropyLoss,
    "tversky": TverskyLoss,  # for the gradient of logsigmoid, of focal and DSC, torch has no rule
}


def network(binary: bool) -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1 if binary else 5))


def data(binary: bool) -> tuple[Tensor, Tensor]:
    torch.manual_seed(4)
    x = torch.randn(257, 6)
    y = torch.randint(2 if binary else 4, (257,))  # one class never occurs
    y[torch.rand(257) < 0.2] = -100
    return x, y


def data_for(name: str) -> tuple[Tensor, Tensor]:
    x, y = data(binary=name == "binary")
    if name.startswith("multi-label"):
        y = torch.where(y.unsqueeze(-1) < 0, -100, (y.unsqueeze(-1) <= torch.arange(-1, 4)).long())
    return x, y


def run(model: nn.Module, x: Tensor, binary: bool) -> Tensor:
    logits: Tensor = model(x)
    return logits.squeeze(-1) if binary else logits


def gradient(model: nn.Module) -> Tensor:
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def error(model: nn.Module, expected: Tensor) -> float:
    return ((gradient(model) - expected).norm() / expected.norm()).item()


def check(name: str, split: tuple[int, ...]) -> None:
    rank = dist.get_rank()
    binary = name == "binary"
    x, y = data_for(name)
    start = sum(split[:rank])
    mine, gold = x[start : start + split[rank]], y[start : start + split[rank]]

    alone = network(binary)
    torch.manual_seed(0)
    full = LOSSES[name]()(run(alone, x, binary), y)
    full.backward()
    expected = gradient(alone)

    torch.manual_seed(0)
    loss = LOSSES[name](process_group="world")
    model = DistributedDataParallel(network(binary))
    value = loss(run(model, mine, binary), gold)
    value.backward()
    torch.testing.assert_close(value, full)
    assert error(model, expected) < 1e-6, (name, split, error(model, expected))

    model.zero_grad()
    parts = [(mine[i::2], gold[i::2]) for i in range(2)]
    value = backward_in_two_passes(
        loss, lambda b: (run(model, b[0], binary), b[1]), parts, no_sync=model.no_sync
    )
    torch.testing.assert_close(value, full.detach())
    assert error(model, expected) < 1e-6, ("two passes", name, split)

    local = DistributedDataParallel(network(binary))
    torch.manual_seed(0)
    LOSSES[name]()(run(local, mine, binary), gold).backward()
    wrong = error(local, expected)
    assert wrong > 1e-3, ("local sets were expected to differ", name, split, wrong)


def check_sharded(name: str, split: tuple[int, ...]) -> None:
    """FSDP2: the gradients of sharded parameters, put together."""
    rank = dist.get_rank()
    x, y = data_for(name)
    rows = slice(sum(split[:rank]), sum(split[: rank + 1]))
    alone, sharded = network(binary=False), network(binary=False)
    SHARDED[name]()(alone(x), y).backward()
    fully_shard(sharded, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    SHARDED[name](process_group="world")(sharded(x[rows]), y[rows]).backward()
    found = torch.cat([p.grad.full_tensor().flatten() for p in sharded.parameters()])
    expected = gradient(alone)
    distance = ((found - expected).norm() / expected.norm()).item()
    assert distance < 1e-6, ("FSDP2", name, split, distance)


def check_dtensor(name: str) -> None:
    """Logits that lie on several processes as one DTensor: no process group is needed."""
    x, y = data_for(name)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    alone = network(binary=False)
    whole = alone(x).detach().requires_grad_()
    sharded = distribute_tensor(whole.detach(), mesh, [Shard(0)]).requires_grad_()
    targets = distribute_tensor(y, mesh, [Shard(0)])
    loss = DTENSOR[name]()
    full = loss(whole, y)
    full.backward()
    with implicit_replication():  # numbers that the loss makes are the same on every process
        value = loss(sharded, targets)
        value.backward()
    assert isinstance(value, DTensor)
    torch.testing.assert_close(value.full_tensor(), full)
    assert sharded.grad is not None
    torch.testing.assert_close(sharded.grad.full_tensor(), whole.grad)


def main() -> None:
    """Every loss on every split of the rows."""
    dist.init_process_group("gloo")
    for name in DTENSOR:
        check_dtensor(name)
    for split in SPLITS:
        for name in SHARDED:
            check_sharded(name, split)
        for name in LOSSES:
            check(name, split)
    dist.destroy_process_group()

"""Train only the upper layers of a BERT: what the lower ones say of an input is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import BertModel

from dicelab.atomic import atomic


def freeze_lower(model: nn.Module, layers: int, known: dict[str, Tensor] | None = None) -> None:
    """Freeze a model's embeddings and lower layers, and run them once for each input.

    Two or three times as fast as training all layers, from the second pass on.

    Args:
        model: has one ``BertModel`` in it, whose embeddings are replaced.
        layers: how many layers are frozen, from below.
        known: hidden states of inputs, to be shared by models, see `kept_states`; in fp32 on the
            CPU, 4 bytes times length times width for an input. None: a new one.

    Raises:
        ValueError: if there is no ``BertModel``, or none of its layers would be left to train.
    """
    bert = next((part for part in model.modules() if isinstance(part, BertModel)), None)
    if bert is None:
        raise ValueError(f"expected a model with a BertModel in it; got {type(model).__name__}")
    if not 0 < layers < len(bert.encoder.layer):
        raise ValueError(f"layers: expected 1 to {len(bert.encoder.layer) - 1}; got {layers}")
    bert.set_attn_implementation("eager")  # faster for short inputs on a CPU
    lower: Any = _Lower(bert, layers, {} if known is None else known)
    bert.embeddings = lower
    bert.encoder.layer = bert.encoder.layer[layers:]


@contextmanager
def kept_states(path: Path) -> Iterator[dict[str, Tensor]]:
    """Hidden states that `freeze_lower` finds in a file, which gets the new ones at the end.

    A state's name is a digest of the frozen weights, the input and the precision: a file serves any
    encoder. Of two processes that write it at once, the later one's states stay.

    Args:
        path: a file of safetensors. One that is not there or is damaged counts as empty.
    """
    known = _read(path)
    before = len(known)
    yield known
    if len(known) > before:
        with atomic(path) as partial:
            save_file(known, partial)


def _read(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (FileNotFoundError, SafetensorError):
        return {}


class _Lower(nn.Module):
    def __init__(self, bert: Any, layers: int, known: dict[str, Tensor]) -> None:
        super().__init__()
        self.position_embeddings = nn.Embedding(1, 1)  # looked for by the encoder's class
        # In a tuple, so that they are neither trained nor saved nor set to train().
        self.frozen = (bert.embeddings.eval(), bert.encoder.layer[:layers].eval())
        self.padding = bert.config.pad_token_id
        self.known = known
        self.identity = hashlib.sha256(bert.config.to_json_string().encode())
        for part in self.frozen:
            for weights in part.state_dict().values():
                self.identity.update(weights.cpu().contiguous().view(torch.uint8).numpy())

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None = None, **_: Any) -> Tensor:
        """Hidden states ``[B, L, width]`` below the trained layers, 0 at padding on the right."""
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        # On the CPU, and once a batch: a GPU would be waited for at each input.
        ids, type_ids = input_ids.cpu(), types.cpu()
        rows = []
        for row, length in enumerate((ids != self.padding).sum(1).tolist()):
            name = self._name(ids[row, :length], type_ids[row, :length], input_ids.device)
            if name not in self.known:
                state = self._run(input_ids[row : row + 1, :length], types[row : row + 1, :length])
                self.known[name] = state[0].float().cpu()
            rows.append(self.known[name])
        return nn.utils.rnn.pad_sequence(rows, batch_first=True).to(input_ids.device)

    def _name(self, ids: Tensor, type_ids: Tensor, device: torch.device) -> str:
        autocast = torch.is_autocast_enabled(device.type) and torch.get_autocast_dtype(device.type)
        name = self.identity.copy()
        for part in (ids, type_ids):
            name.update(part.numpy().tobytes())
        name.update(f"{device.type} {autocast}".encode())
        return name.hexdigest()

    @torch.no_grad()
    def _run(self, ids: Tensor, type_ids: Tensor) -> Tensor:
        embeddings, layers = (part.to(ids.device) for part in self.frozen)
        state = embeddings(input_ids=ids, token_type_ids=type_ids)
        for layer in layers:
            out = layer(state)
            state = out[0] if isinstance(out, tuple) else out
        return state

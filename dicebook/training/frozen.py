"""Train only the upper layers of a BERT: what the lower ones say of an input is kept."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertModel


def freeze_lower(model: nn.Module, layers: int, known: dict[bytes, Tensor] | None = None) -> None:
    """Freeze a model's embeddings and lower layers, and run them once for each input.

    Two or three times as fast as training all layers, from the second pass on.

    Args:
        model: has one ``BertModel`` in it, whose embeddings are replaced.
        layers: how many layers are frozen, from below.
        known: from an input to its hidden states, to be shared by several models with the same
            weights; in fp32, 4 bytes times length times width for an input. None: a new one.

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


class _Lower(nn.Module):
    def __init__(self, bert: Any, layers: int, known: dict[bytes, Tensor]) -> None:
        super().__init__()
        self.position_embeddings = nn.Embedding(1, 1)  # looked for by the encoder's class
        # In a tuple, so that they are neither trained nor saved nor set to train().
        self.frozen = (bert.embeddings.eval(), bert.encoder.layer[:layers].eval())
        self.padding = bert.config.pad_token_id
        self.known = known

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None = None, **_: Any) -> Tensor:
        """Hidden states ``[B, L, width]`` below the trained layers, 0 at padding on the right."""
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        precision = bytes([torch.is_autocast_enabled(input_ids.device.type)])
        rows = []
        for ids, kinds in zip(input_ids, types, strict=True):
            length = int((ids != self.padding).sum())
            ids, kinds = ids[:length], kinds[:length]
            name = ids.cpu().numpy().tobytes() + kinds.cpu().numpy().tobytes() + precision
            if name not in self.known:
                self.known[name] = self._run(ids[None], kinds[None])[0].float()
            rows.append(self.known[name])
        return nn.utils.rnn.pad_sequence(rows, batch_first=True)

    @torch.no_grad()
    def _run(self, ids: Tensor, kinds: Tensor) -> Tensor:
        embeddings, layers = (part.to(ids.device) for part in self.frozen)
        state = embeddings(input_ids=ids, token_type_ids=kinds)
        for layer in layers:
            out = layer(state)
            state = out[0] if isinstance(out, tuple) else out
        return state

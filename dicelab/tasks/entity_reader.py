"""The model of BERT-MRC: an encoder with heads for starts, ends and the spans between them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModel
from transformers.utils import ModelOutput

from dicelab.training.encoders import from_pretrained

HEADS = "heads.safetensors"
READER = "entity_reader.json"


def head(width: int, outputs: int, layers: int) -> nn.Module:
    """A head on hidden states: a linear layer, or two with a ReLU between.

    Raises:
        ValueError: if ``layers`` is neither 1 nor 2.
    """
    if layers not in (1, 2):
        raise ValueError(f"head_layers: expected 1 or 2, got {layers}")
    last = nn.Linear(width, outputs)
    return last if layers == 1 else nn.Sequential(nn.Linear(width, width), nn.ReLU(), last)


class MatchHead(nn.Module):
    """Scores whether a start and an end belong to one entity.

    The usual head is ``v · gelu(W [h_i; h_j] + b)`` over all pairs, which builds a tensor
    ``[B, L, L, 2H]``. Since ``W [h_i; h_j] = W1 h_i + W2 h_j``, it is enough to project every
    position twice and to add the projections of the pairs that matter.

    Args:
        width: H, the size of a hidden state.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.start = nn.Linear(width, width)
        self.end = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, 1)

    def forward(self, hidden: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        """Score pairs.

        Args:
            hidden: ``[B, L, H]``.
            starts: positions, ``[B, K]``.
            ends: positions, ``[B, K]``.

        Returns:
            Logits ``[B, K]``.
        """
        rows = torch.arange(hidden.shape[0], device=hidden.device)[:, None]
        pairs = self.start(hidden)[rows, starts] + self.end(hidden)[rows, ends]
        return self.out(nn.functional.gelu(pairs)).squeeze(-1)


class EntityReader(nn.Module):
    """An encoder with the three heads.

    Args:
        encoder: a transformers model that gives ``last_hidden_state``.
        candidates: the likeliest starts and ends of a row, of which pairs are scored. Where a row
            has more of them with a probability above one half, or in training more entities, up to
            four times as many are taken: the number of candidates would otherwise limit how many
            entities of a type a sentence can have.
        dropout: applied to the hidden states.
        answerable: whether a fourth head says from the first token if there is an entity at all; as
            the paper's released code has it, which the paper does not mention.
        head_layers: 1, or 2 with a ReLU between, as the released code has it, of the heads for
            starts, ends and ``answerable``.
        queries: the question for each type, which :func:`dicelab.tasks.mrc_ner.predict` asks.
    """

    def __init__(
        self,
        encoder: Any,
        *,
        candidates: int = 8,
        dropout: float = 0.1,
        answerable: bool = False,
        head_layers: int = 1,
        queries: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        width = encoder.config.hidden_size
        self.encoder = encoder
        self.candidates = candidates
        self.queries = dict(queries or {})
        self.dropout = nn.Dropout(dropout)
        self.head_layers = head_layers
        self.boundaries = head(width, 2, head_layers)
        self.match = MatchHead(width)
        self.answerable = head(width, 1, head_layers) if answerable else None

    @property
    def config(self) -> Any:
        """The encoder's config."""
        return self.encoder.config

    def save_pretrained(self, folder: Path | str) -> None:
        """Write the encoder as transformers does, the heads and the questions beside it."""
        self.encoder.save_pretrained(folder)
        heads = {
            name: value.contiguous()
            for name, value in self.state_dict().items()
            if not name.startswith("encoder.")
        }
        save_file(heads, Path(folder) / HEADS)
        options = {
            "candidates": self.candidates,
            "dropout": self.dropout.p,
            "answerable": self.answerable is not None,
            "head_layers": self.head_layers,
            "queries": self.queries,
        }
        text = json.dumps(options, ensure_ascii=False, indent=2) + "\n"
        (Path(folder) / READER).write_text(text, encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: Path | str, **options: Any) -> EntityReader:
        """Read what :meth:`save_pretrained` wrote.

        Args:
            folder: the folder.
            **options: arguments of the class to use instead of the saved ones.

        Raises:
            OSError: if a file is missing.
        """
        saved = json.loads((Path(folder) / READER).read_text(encoding="utf-8"))
        reader = cls(from_pretrained(AutoModel, str(folder)), **{**saved, **options})
        heads = load_file(Path(folder) / HEADS)
        missing, unknown = reader.load_state_dict(heads, strict=False)
        if unknown or not all(name.startswith("encoder.") for name in missing):
            raise OSError(f"{folder}/{HEADS}: expected the heads of an EntityReader")
        return reader.eval()

    def gradient_checkpointing_enable(self) -> None:
        """Recompute the encoder's activations in the backward pass."""
        old = self.encoder.gradient_checkpointing_enable
        getattr(self.encoder, "activation_checkpointing_enable", old)()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        word_mask: Tensor,
        token_type_ids: Tensor | None = None,
        spans: Tensor | None = None,
    ) -> ModelOutput:
        """Score a batch of questions.

        Args:
            input_ids: ``[B, L]``.
            attention_mask: ``[B, L]``.
            word_mask: ``[B, L]``, true at the first sub-word of each word of the sentence.
            token_type_ids: ``[B, L]``, for encoders that have them.
            spans: the entities, ``[B, S, 2]``, padded with -1. In training their starts and ends
                come first among the candidates; otherwise they are not looked at.

        Returns:
            ``logits`` ``[B, L, 2]`` of starts and ends; ``pairs`` ``[B, K, 2]``, the candidates,
            -1 where there is none; ``match_logits`` ``[B, K]``; ``word_mask``; in training
            ``answerable`` ``[B]``, if there is that head. Else it bounds ``match_logits``.
        """
        segments = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        hidden = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, **segments
        ).last_hidden_state
        hidden = self.dropout(hidden)
        logits = self.boundaries(hidden)
        with torch.no_grad():
            likely = logits.float().masked_fill(~word_mask[..., None], -torch.inf)
            if spans is not None and self.training:
                likely = likely.masked_fill(marks(spans, likely) > 0, torch.inf)
            sure = (likely > 0).sum(1).amax(-1)
            most = sure.clamp(self.candidates, 4 * self.candidates)
            k = min(int(most.max()), likely.shape[1])
            top = likely.topk(k, dim=1)
            starts = top.indices[:, :, None, 0].expand(-1, k, k).flatten(1)
            ends = top.indices[:, None, :, 1].expand(-1, k, k).flatten(1)
            real = word_mask.gather(1, starts) & word_mask.gather(1, ends) & (starts <= ends)
            # A row has the candidates that it would have alone.
            own = torch.arange(k, device=most.device) < most[:, None]
            real &= (own[:, :, None] & own[:, None]).flatten(1)
            pairs = torch.stack([starts, ends], -1).masked_fill(~real[..., None], -1)
        output = ModelOutput(
            logits=logits,
            pairs=pairs,
            match_logits=self.match(hidden, starts, ends),
            word_mask=word_mask,
        )
        if self.answerable is not None:
            any_at_all = self.answerable(hidden[:, 0]).squeeze(-1)
            if self.training:
                output["answerable"] = any_at_all
            else:  # without an answer no pair is one
                output["match_logits"] = torch.minimum(output["match_logits"], any_at_all[:, None])
        return output


def marks(spans: Tensor, like: Tensor) -> Tensor:
    """0/1 in the shape ``[B, L, 2]`` of ``like``: 1 at the starts and at the ends of entities."""
    zeros = torch.zeros_like(like)
    return zeros.scatter_reduce_(1, spans.clamp(min=0), (spans >= 0).to(like.dtype), "amax")

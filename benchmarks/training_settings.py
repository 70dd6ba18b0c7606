"""Training throughput of dicebook's settings beside those of transformers' example scripts.

Both train the same tagger on the same sentences, the loop being the same. The examples' settings
pad every sentence to the maximal length and do not group; ours pad a batch to its longest sentence
and group batches by length. The two take turns, a few steps each, so that whatever else the machine
does slows both.

    python benchmarks/training_settings.py --corpus wnut17 --encoder minilm
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from torch.utils.data import DataLoader
from transformers.trainer_pt_utils import LengthGroupedSampler

from dicebook.corpora import load
from dicebook.losses import make_loss
from dicebook.tasks import tagging
from dicebook.training.encoders import load_tokenizer


def batches(split, tokenizer, batch_size: int, max_length: int | None):
    """Endless training batches; with a maximal length padded to it and not grouped."""
    collate = tagging.collator(tokenizer)
    length = [len(ids) for ids in split["input_ids"]]
    sampler = None if max_length else LengthGroupedSampler(batch_size, lengths=length)
    loader = DataLoader(
        split, batch_size, shuffle=sampler is None, sampler=sampler, collate_fn=collate
    )
    while True:
        for batch in loader:
            short = (max_length or 0) - batch["input_ids"].shape[1]
            if short > 0:
                values = {"input_ids": tokenizer.pad_token_id, "labels": -100}
                batch = {
                    name: torch.nn.functional.pad(t, (0, short), value=values.get(name, 0))
                    for name, t in batch.items()
                }
            yield batch


def train_step(model, optimizer, loss, batch) -> int:
    """One step; how many sub-words other than padding it saw."""
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    loss(model(**inputs).logits, batch["labels"]).backward()
    optimizer.step()
    optimizer.zero_grad()
    return int(batch["attention_mask"].sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="embedded-entities-en")
    parser.add_argument("--encoder", default="tiny")
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4, help="steps of each kind in a round")
    arguments = parser.parse_args()
    corpus = load(arguments.corpus, task="tagging")
    texts = (" ".join(tokens) for tokens in corpus["train"]["tokens"])
    tokenizer = load_tokenizer(arguments.encoder, texts, max_length=arguments.max_length)
    encoded = tagging.encode(corpus, tokenizer, max_length=arguments.max_length)
    torch.manual_seed(0)
    model = tagging.model(arguments.encoder, tokenizer, encoded.labels).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)
    loss = make_loss("ce")
    kinds = {
        name: batches(encoded.splits["train"], tokenizer, arguments.batch_size, length)
        for name, length in (("examples' settings", arguments.max_length), ("ours", None))
    }
    for source in kinds.values():  # the first steps allocate
        train_step(model, optimizer, loss, next(source))
    rates: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(arguments.rounds):
        for name, source in kinds.items():
            started = time.perf_counter()
            tokens = sum(
                train_step(model, optimizer, loss, next(source)) for _ in range(arguments.steps)
            )
            rates[name].append(tokens / (time.perf_counter() - started))
    for name, values in rates.items():
        print(f"{name:18} {statistics.median(values):8.0f} sub-words a second, padding left out")
    ratios = [b / a for a, b in zip(*rates.values(), strict=True)]
    print(
        f"ours / examples' settings: {statistics.median(ratios):.2f} "
        f"(from {min(ratios):.2f} to {max(ratios):.2f} over {arguments.rounds} rounds)"
    )


if __name__ == "__main__":
    main()

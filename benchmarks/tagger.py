"""Wall time and F1 of dicebook's tagger beside a plain PyTorch loop, trained side by side.

Both run at the same time, one thread each, so that whatever else the machine does slows both.

    python benchmarks/tagger.py --corpus wnut17 --encoder minilm
    python benchmarks/tagger.py --corpus ud_en_ewt --encoder minilm --train-size 3000 --epochs 2
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

SETTINGS = {"batch_size": 32, "learning_rate": 2e-4, "max_length": 128, "seed": 0}


def prepare(corpus_name: str, encoder: str, train_size: int):
    from dicebook.corpora import load
    from dicebook.tasks import tagging
    from dicebook.training.encoders import load_tokenizer
    from dicebook.training.experiment import Experiment
    from dicebook.training.sampling import sample

    part = Experiment(corpus=corpus_name, train_size=train_size, seed=SETTINGS["seed"])
    corpus = sample(load(corpus_name, task="tagging"), part)
    texts = [" ".join(tokens) for tokens in corpus["train"]["tokens"]]
    tokenizer = load_tokenizer(encoder, texts, max_length=SETTINGS["max_length"])
    return tokenizer, tagging.encode(corpus, tokenizer, max_length=SETTINGS["max_length"])


def scores_of(split, logits, labels: list[str]) -> dict[str, float]:
    """Entity scores of IOB2 tags, word scores of other tags."""
    from dicebook.tasks import tagging

    spans = any(label.startswith("B-") for label in labels)
    score = tagging.score if spans else tagging.score_words
    return score(split["tags"], tagging.decode(logits, split, labels))


def ours(corpus: str, encoder: str, epochs: int, train_size: int) -> dict[str, float]:
    """dicebook.training: Trainer, length-grouped batches, a checkpoint an epoch."""
    from dicebook.losses import TrainerLoss, make_loss
    from dicebook.tasks import tagging
    from dicebook.training.experiment import Experiment
    from dicebook.training.trainer import train

    tokenizer, encoded = prepare(corpus, encoder, train_size)
    started = time.perf_counter()
    trained = train(
        Experiment(
            corpus=corpus, encoder=encoder, epochs=epochs, train_size=train_size, **SETTINGS
        ),
        build_model=lambda: tagging.model(encoder, tokenizer, encoded.labels),
        splits=encoded.splits,
        collator=tagging.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(make_loss("ce")),
        evaluate=lambda logits, split: scores_of(split, logits, encoded.labels),
    )
    seconds = time.perf_counter() - started
    scores = scores_of(encoded.splits["test"], trained.logits["test"], encoded.labels)
    return {"seconds": seconds, **scores}


def plain(corpus: str, encoder: str, epochs: int, train_size: int) -> dict[str, float]:
    """A plain loop: shuffled batches padded to their longest sentence, linear schedule, AdamW."""
    import numpy as np
    import torch
    from torch.utils.data import DataLoader
    from transformers import get_linear_schedule_with_warmup, set_seed

    from dicebook.tasks import tagging

    tokenizer, encoded = prepare(corpus, encoder, train_size)
    started = time.perf_counter()
    set_seed(SETTINGS["seed"])
    model = tagging.model(encoder, tokenizer, encoded.labels)
    collate = tagging.collator(tokenizer)
    train = encoded.splits["train"]
    batches = DataLoader(train, SETTINGS["batch_size"], shuffle=True, collate_fn=collate)
    optimizer = torch.optim.AdamW(model.parameters(), SETTINGS["learning_rate"], weight_decay=0.01)
    steps = epochs * len(batches)
    schedule = get_linear_schedule_with_warmup(optimizer, int(0.1 * steps), steps)

    def predict(name: str) -> dict[str, float]:
        split = encoded.splits[name]
        model.eval()
        rows: list[np.ndarray] = []
        with torch.inference_mode():
            for batch in DataLoader(split, 4 * SETTINGS["batch_size"], collate_fn=collate):
                rows.extend(model(**batch).logits.numpy())
        model.train()
        width = max(len(row) for row in rows)
        logits = np.full((len(rows), width, len(encoded.labels)), -100.0)
        for i, row in enumerate(rows):
            logits[i, : len(row)] = row
        return scores_of(split, logits, encoded.labels)

    best, weights = -1.0, {}
    model.train()
    for _ in range(epochs):
        for batch in batches:
            model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        f1 = predict("validation")["f1"]
        if f1 > best:
            best, weights = f1, {k: v.clone() for k, v in model.state_dict().items()}
    model.load_state_dict(weights)
    scores = predict("test")
    return {"seconds": time.perf_counter() - started, **scores}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="embedded-entities-en")
    parser.add_argument("--encoder", default="tiny")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--train-size", type=int, default=0, help="0 takes all sentences")
    parser.add_argument("--only", choices=["plain", "ours"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        run = {"plain": plain, "ours": ours}[arguments.only]
        result = run(arguments.corpus, arguments.encoder, arguments.epochs, arguments.train_size)
        print(json.dumps(result))
        return
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    processes = {
        name: subprocess.Popen(
            [sys.executable, __file__, *sys.argv[1:], "--only", name],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("plain", "ours")
    }
    results = {}
    for name, process in processes.items():
        out, _ = process.communicate()
        if process.returncode:
            sys.exit(f"the {name} run failed")
        results[name] = json.loads(out.splitlines()[-1])
        shown = ", ".join(f"{key} {value:.1f}" for key, value in results[name].items())
        print(f"{name:6} {shown}")
    print(
        f"wall time, ours / plain: {results['ours']['seconds'] / results['plain']['seconds']:.2f}"
    )


if __name__ == "__main__":
    main()

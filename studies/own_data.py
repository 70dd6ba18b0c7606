"""Is ``dicebook fit`` behind what a careful person types in ten minutes?

    python -m studies.own_data                        # whatever is not recorded yet
    python -m studies.own_data --table                # what is recorded
    python -m studies.own_data --methods fit words --corpora mrpc --draws 0

A draw takes rows to train on and to choose by from a corpus's training and development parts, and
rows to score from its test part, and writes them as a user would have them: a folder with a file a
split. Every method gets the same rows:

- ``fit``: `dicebook fit` as it comes, in ``MINUTES`` minutes of one thread; so give it a core of
  its own (``taskset``). Its record says what it planned, took and kept.
- ``words``: scikit-learn's TF-IDF of words and pairs of words with a logistic regression whose
  penalty and class weight are chosen by cross-validation, and with a tuned threshold. Of tags a
  conditional random field on words and their shapes.
- ``characters``: the same on words, pairs of words, and two to five characters.
- ``embeddings``: the same on the sentence embeddings of the encoder that ``fit`` uses.
- ``stacked``: a logistic regression on the out-of-fold decisions of the last two, its threshold by
  cross-validation, too.
- ``setfit``: SetFit with its defaults, but ``SETFIT_STEPS`` steps. It reads no pairs and no tags.
- ``trainer``: transformers' `Trainer` with its defaults, decided at argmax.

All of them learn from train and validation together; ``fit`` only in the end. One record a method
and draw is appended to ``CORPUS.jsonl`` under ``--out``; what is recorded is not run again. The
corpora are those that ``dicebook data`` prepares, under ``$DICEBOOK_DATA``; the peers need
``pip install setfit sklearn-crfsuite``.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from datasets import Dataset, concatenate_datasets

from dicelab.fit import fit as whole_fit
from dicelab.fit.inputs import Inputs, prepare
from dicelab.fit.options import Options
from dicelab.fit.training import scores_of
from dicelab.records import runs
from dicelab.training.encoders import minilm_folder
from dicelab.training.trainer import device_of
from studies import raw

MINUTES, SETFIT_STEPS, DRAWS, FOLDS = 10, 300, 3, 5
POSITIVES = 0.03
LABELS = ("remorse", "confusion", "surprise", "disgust", "desire", "fear")
METHODS = ("fit", "words", "characters", "embeddings", "stacked", "setfit", "trainer")
Rows = list[dict[str, Any]]
Parts = Callable[[np.random.Generator], tuple[Rows, Rows]]


@dataclass(frozen=True)
class Corpus:
    """Where a draw comes from.

    Attributes:
        parts: the pool and the test rows; what must be drawn for them is drawn here.
        sizes: rows to train on, to choose by and, at most, to test on.
        methods: those that can read it.
    """

    parts: Parts
    sizes: tuple[int, int, int]
    methods: tuple[str, ...] = METHODS


def _tagged(name: str) -> Parts:
    return lambda rng: (raw.tagged(name, ("train", "dev")), raw.tagged(name, ("test",)))


def _mrpc(rng: np.random.Generator) -> tuple[Rows, Rows]:
    return raw.mrpc("train"), raw.mrpc("test")


def _one_label(label: str) -> Parts:
    """Whether a comment of GoEmotions has one rare label."""

    def of(part: str) -> Rows:
        return [
            {"sentence": row["sentence"], "label": int(label in row["labels"])}
            for row in raw.goemotions(part)
        ]

    return lambda rng: (of("train") + of("dev"), of("test"))


def _sst2(rng: np.random.Generator) -> tuple[Rows, Rows]:
    return thinned(raw.sst2("train") + raw.sst2("dev"), rng), thinned(raw.sst2("test"), rng)


def thinned(rows: Rows, rng: np.random.Generator) -> Rows:
    """All negative rows, and so many positive ones that their share is ``POSITIVES``."""
    positive = np.array([row["label"] == 1 for row in rows])
    keep = round(POSITIVES / (1 - POSITIVES) * int((~positive).sum()))
    selected = set(rng.permutation(np.flatnonzero(positive))[:keep].tolist())
    return [row for number, row in enumerate(rows) if row["label"] == 0 or number in selected]


TAGGERS = ("fit", "words", "trainer")
CORPORA = {
    "sst2_03": Corpus(_sst2, (1_600, 1_000, 1_000)),
    **{f"goemotions_{of}": Corpus(_one_label(of), (3_200, 1_600, 6_000)) for of in LABELS},
    "mrpc": Corpus(_mrpc, (1_600, 500, 1_000), tuple(m for m in METHODS if m != "setfit")),
    "crossner_politics": Corpus(_tagged("crossner_politics"), (400, 300, 1_000), TAGGERS),
    "wnut17": Corpus(_tagged("wnut17"), (1_600, 600, 1_500), TAGGERS),
}


def draw(name: str, number: int) -> dict[str, Rows]:
    """The rows of a draw, by split.

    Args:
        name: a name in ``CORPORA``.
        number: from 0.
    """
    corpus, rng = CORPORA[name], np.random.default_rng([47, number])
    pool, test = corpus.parts(rng)
    first, second, third = corpus.sizes
    order = rng.permutation(len(pool))[: first + second].tolist()
    tested = sorted(rng.permutation(len(test))[:third].tolist())
    return {
        "train": [pool[i] for i in order[:first]],
        "validation": [pool[i] for i in order[first:]],
        "test": [test[i] for i in tested],
    }


def write(splits: dict[str, Rows], folder: Path) -> Path:
    """The rows as a user has them: a file a split, tagged words or a table with a header."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        if "tokens" in rows[0]:
            lines = [
                "\n".join(
                    f"{word}\t{tag}" for word, tag in zip(r["tokens"], r["tags"], strict=True)
                )
                for r in rows
            ]
            (folder / f"{split}.conll").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
            continue
        names = [n for n in ("sentence", "sentence1", "sentence2", "label") if n in rows[0]]
        with (folder / f"{split}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            writer.writerows([row[name] for name in names] for row in rows)
    return folder


# -- the methods: each hands back the F1 on test in percent, and what it chose -----------------


def fit(options: Options, say: Callable[[str], None]) -> tuple[float, dict[str, Any]]:
    """A whole fit."""
    result = whole_fit(options, say)
    size, _ = result.cost[result.model_name]
    others = result.without_arms().items()
    scores = {name: result.score_of(result.counts_of(made)) for name, made in others}
    chose = {
        "kept": result.model_name,
        "megabytes": size / 1e6,
        "refitted": result.refitted,
        "plan": asdict(result.plan),
        "of": scores | {arm: result.scores(arm)[0] for arm in result.arms},
        "validation": result.compared,
    }
    return result.score_of(result.counts()[0]), chose


def words(inputs: Inputs, seed: int) -> tuple[float, dict[str, Any]]:
    """TF-IDF and a logistic regression; of pairs the product and the distance of both vectors."""
    if inputs.data.task == "tagging":
        return _crf(inputs)
    return _decided(inputs, [_terms(inputs)], seed)


def characters(inputs: Inputs, seed: int) -> tuple[float, dict[str, Any]]:
    """The same with sequences of characters beside the words."""
    return _decided(inputs, [_terms(inputs, characters=True)], seed)


def embeddings(inputs: Inputs, seed: int) -> tuple[float, dict[str, Any]]:
    """Sentence embeddings and a logistic regression; of pairs ``|u - v|`` and ``u * v``."""
    return _decided(inputs, [_embedded(inputs)], seed)


def stacked(inputs: Inputs, seed: int) -> tuple[float, dict[str, Any]]:
    """A logistic regression on what the last two decide out of fold."""
    return _decided(inputs, [_terms(inputs, characters=True), _embedded(inputs)], seed)


Vectors = tuple[Any, Any]  # of the rows to learn from, and of test


def _of_rows(inputs: Inputs, vectors: Callable[[Dataset], Any]) -> Vectors:
    return vectors(_pool(inputs)), vectors(inputs.data.splits["test"])


def _terms(inputs: Inputs, *, characters: bool = False) -> Vectors:
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union

    columns, usual = inputs.problem.text_columns, {"min_df": 2, "sublinear_tf": True}
    kinds = [TfidfVectorizer(ngram_range=(1, 2), **usual)]
    if characters:
        kinds.append(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), **usual))
    pool = _pool(inputs)
    terms = make_union(*kinds).fit([text for column in columns for text in pool[column][:]])

    def vectors(rows: Dataset) -> Any:
        parts = [terms.transform(rows[column][:]) for column in columns]
        if len(parts) == 2:
            parts = [parts[0].multiply(parts[1]), abs(parts[0] - parts[1])]
        return hstack(parts).tocsr()

    return _of_rows(inputs, vectors)


def _embedded(inputs: Inputs) -> Vectors:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(minilm_folder()), device=str(device_of("auto")))

    def vectors(rows: Dataset) -> np.ndarray:
        parts = [
            model.encode(rows[column][:], normalize_embeddings=True, show_progress_bar=False)
            for column in inputs.problem.text_columns
        ]
        if len(parts) == 2:
            parts = [abs(parts[0] - parts[1]), parts[0] * parts[1]]
        return np.hstack(parts)

    return _of_rows(inputs, vectors)


def _decided(inputs: Inputs, parts: list[Vectors], seed: int) -> tuple[float, dict[str, Any]]:
    """Penalty and class weight by cross-validation, then the threshold, as scikit-learn has it."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import (
        GridSearchCV,
        StratifiedKFold,
        TunedThresholdClassifierCV,
        cross_val_predict,
    )

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    grid = {"C": [0.1, 1, 10, 100], "class_weight": [None, "balanced"]}
    y = inputs.problem.gold(_pool(inputs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = LogisticRegression(max_iter=1000)
        found = [
            GridSearchCV(plain, grid, scoring="average_precision", cv=folds).fit(x, y)
            for x, _ in parts
        ]
        best, (x, test) = found[0].best_estimator_, parts[0]
        if len(parts) > 1:
            of_each = [(one, *part) for one, part in zip(found, parts, strict=True)]
            held = {"cv": folds, "method": "decision_function"}
            margins = [
                cross_val_predict(one.best_estimator_, x, y, **held) for one, x, _ in of_each
            ]
            x = np.stack(margins, axis=1)
            test = np.stack([one.decision_function(test) for one, _, test in of_each], axis=1)
            best = LogisticRegression()
        tuned = TunedThresholdClassifierCV(best, scoring="f1", cv=folds).fit(x, y)
    chose = {"settings": [one.best_params_ for one in found]}
    return _f1(inputs, tuned.predict(test)), chose | {"threshold": float(tuned.best_threshold_)}


def _crf(inputs: Inputs) -> tuple[float, dict[str, Any]]:
    """A conditional random field on words, their shapes, ends and neighbours."""
    from sklearn_crfsuite import CRF

    def features(tokens: Sequence[str]) -> list[dict[str, Any]]:
        rows = []
        for place in range(len(tokens)):
            own: dict[str, Any] = {"bias": 1.0}
            for shift in (-2, -1, 0, 1, 2):
                if not 0 <= place + shift < len(tokens):
                    own[f"{shift}:none"] = True
                    continue
                word = tokens[place + shift]
                own |= {
                    f"{shift}:lower": word.lower(),
                    f"{shift}:title": word.istitle(),
                    f"{shift}:upper": word.isupper(),
                    f"{shift}:digit": any(map(str.isdigit, word)),
                }
                if shift == 0:
                    own |= {f"end{n}": word[-n:] for n in (2, 3)} | {"start": word[:3]}
            rows.append(own)
        return rows

    pool, test = _pool(inputs), inputs.data.splits["test"]
    model = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100)
    model.fit([features(row) for row in pool["tokens"][:]], pool["tags"][:])
    predicted = model.predict([features(row) for row in test["tokens"][:]])
    index = {tag: i for i, tag in enumerate(inputs.problem.labels)}
    return _f1(inputs, np.array([index[tag] for row in predicted for tag in row])), {}


def setfit(inputs: Inputs, seed: int, folder: Path) -> tuple[float, dict[str, Any]]:
    """SetFit: the encoder learns from pairs of texts, then a logistic regression from it."""
    from setfit import SetFitModel, Trainer, TrainingArguments

    pool = _pool(inputs)
    rows = Dataset.from_dict(
        {"text": pool["sentence"][:], "label": inputs.problem.gold(pool).tolist()}
    )
    model = SetFitModel.from_pretrained(str(minilm_folder()), device=str(device_of("auto")))
    settings = TrainingArguments(
        output_dir=str(folder), max_steps=SETFIT_STEPS, seed=seed, save_strategy="no",
        report_to="none", show_progress_bar=False,
    )  # fmt: skip
    Trainer(model=model, args=settings, train_dataset=rows).train()
    texts = inputs.data.splits["test"]["sentence"][:]
    predicted = model.predict(texts, as_numpy=True, use_labels=False)
    return _f1(inputs, predicted), {}


def trainer(inputs: Inputs, seed: int, folder: Path) -> tuple[float, dict[str, Any]]:
    """transformers' Trainer: three passes, batches of 8, a learning rate of 5e-5."""
    from transformers import Trainer, TrainingArguments, set_seed

    problem = inputs.problem
    rows = concatenate_datasets([problem.splits[name] for name in ("train", "validation")])
    set_seed(seed)
    device = device_of("auto")
    settings = TrainingArguments(
        output_dir=str(folder), seed=seed, save_strategy="no", report_to="none",
        disable_tqdm=True, use_cpu=device.type == "cpu",
        dataloader_pin_memory=device.type != "cpu",
    )  # fmt: skip
    model = problem.model(inputs.encoder, inputs.tokenizer)
    peer = Trainer(
        model=model,
        args=settings,
        train_dataset=rows,
        data_collator=problem.collator(inputs.tokenizer),
    )
    peer.train()
    scores = scores_of(inputs, model.eval(), problem.splits["test"])
    if inputs.data.task == "tagging":  # a fit would decode valid tags
        return _f1(inputs, scores[:, : len(problem.labels)].argmax(-1)), {}
    return _f1(inputs, problem.decide(scores, np.zeros(len(problem.labels)))), {}


def _pool(inputs: Inputs) -> Dataset:
    return concatenate_datasets([inputs.data.splits[name] for name in ("train", "validation")])


def _f1(inputs: Inputs, decisions: np.ndarray) -> float:
    problem = inputs.problem
    counts = problem.counts(problem.splits["test"], decisions)
    return float(problem.goal.value(counts.sum(0)))


# -- one draw by one method --------------------------------------------------------------------


def parameters_of(name: str, number: int, method: str, encoder: str) -> dict[str, Any]:
    """What tells a record from the others."""
    return {"corpus": name, "draw": number, "method": method, "encoder": encoder}


def run_draw(
    name: str,
    number: int,
    methods: Sequence[str],
    *,
    out: Path,
    work: Path,
    encoder: str = "minilm",
    device: Any = "auto",
    say: Callable[[str], None] = print,
    **options: Any,
) -> None:
    """A draw by some methods; what is not in the file of records is added to it.

    Args:
        name: a name in ``CORPORA``.
        number: the draw's, from 0.
        methods: some of ``METHODS``; those that do not read this corpus are left out.
        out: the file of records.
        work: folder of what is under way; each draw has one of its own there.
        encoder: as for a fit.
        device: where the fit runs.
        say: takes a line a method.
        **options: others of the fit.
    """
    known = [r["parameters"] for r in runs.read_records(out)] if out.exists() else []
    missing = [
        method
        for method in methods
        if method in CORPORA[name].methods
        and parameters_of(name, number, method, encoder) not in known
    ]
    if not missing:
        return
    folder = work / f"{name}-{number}"
    if not (folder / "data").is_dir():
        write(draw(name, number), folder / "data")
    asked = Options(
        source=str(folder / "data"),
        out=str(folder / "fit"),
        encoder=encoder,
        seed=10 * number,
        device=device,
        **{"minutes": MINUTES, **options},
    )
    inputs = prepare(asked)
    for method in missing:
        started = time.monotonic()
        if method == "fit":
            f1, chose = fit(asked, say)
        elif method in LINEAR:
            f1, chose = LINEAR[method](inputs, asked.seed)
        else:
            f1, chose = TRAINED[method](inputs, asked.seed, folder / method)
        seconds = time.monotonic() - started
        record = runs.make_record(
            chapter="studies/own_data.py",
            parameters=parameters_of(name, number, method, encoder),
            metrics={"test": {"f1": round(f1, 3)}},
            history=[chose],
            measured={"device": str(device_of(device)), "seconds": round(seconds, 1)},
        )
        runs.append_record(out, record)
        say(f"{name}, draw {number}, {method}: F1 {f1:.1f}; {seconds:.0f} s")


LINEAR = {
    "words": words,
    "characters": characters,
    "embeddings": embeddings,
    "stacked": stacked,
}
TRAINED = {"setfit": setfit, "trainer": trainer}


# -- the table ----------------------------------------------------------------------------------


def table(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """F1 on test: a row a corpus and draw, a column a method; NaN where there is none."""
    rows = [{**r["parameters"], "f1": r["metrics"]["test"]["f1"]} for r in records]
    columns = ["corpus", "draw", "method", "f1"]
    frame = pd.DataFrame(rows, columns=columns)
    wide = frame.pivot(index=["corpus", "draw"], columns="method", values="f1")
    order = [method for method in METHODS if method in wide]
    return wide.reindex(list(CORPORA), level="corpus")[order]


def means(scores: pd.DataFrame) -> pd.DataFrame:
    """The same over the draws of a corpus."""
    return scores.groupby(level="corpus", sort=False).mean()


def gaps(scores: pd.DataFrame, peer: str, of: str = "fit") -> pd.Series:
    """``fit`` minus a peer, in points, over the draws that both have: the mean of each corpus."""
    both = (scores[of] - scores[peer]).dropna()
    return both.groupby(level="corpus", sort=False).mean()


def by_source(of_corpora: pd.Series) -> pd.Series:
    """Means of the corpora of each source: all labels of GoEmotions are about the same comments."""
    sources = ["goemotions" if "goemotions" in str(n) else str(n) for n in of_corpora.index]
    return of_corpora.groupby(sources, sort=False).mean()


def main() -> None:
    """Run what is not yet recorded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--draws", nargs="+", type=int, default=list(range(DRAWS)))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--out", type=Path, default=Path("runs/own_data/records"))
    parser.add_argument("--work", type=Path, default=Path("runs/own_data"))
    parser.add_argument("--table", action="store_true", help="print the kept records, run nothing")
    args = parser.parse_args()
    if args.table:
        scores = table(runs.kept_records("own_data"))
        print(scores.round(1).to_string(), means(scores).round(1).to_string(), sep="\n\n")
        return
    for number in args.draws:
        for name in args.corpora:
            out = args.out / f"{name}.jsonl"
            run_draw(name, number, args.methods, out=out, work=args.work)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

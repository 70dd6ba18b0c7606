"""Records of runs: writing them whole, reading them back, intervals and tests over seeds."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from dicelab.atomic import write_json as write_json
from dicelab.metrics.intervals import OverRuns as Interval
from dicelab.metrics.intervals import over_runs as interval
from dicelab.records.kept import kept_folder as kept_folder
from dicelab.records.kept import kept_records as kept_records
from dicelab.records.report import write_record as write_record

PACKAGES = ("dicebook", "torch", "transformers", "datasets", "tokenizers", "seqeval", "numpy")


def make_record(
    *,
    chapter: str,
    parameters: Mapping[str, Any],
    metrics: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    measured: Mapping[str, Any],
) -> dict[str, Any]:
    """What a run leaves behind.

    On a CPU everything but ``measured`` is a function of the parameters, the data and the versions,
    so two runs of one command agree on it, also when one of them was interrupted and resumed. On
    another kind of CPU, or with other threads, sums are rounded differently, and of CUDA's kernels
    some add in no fixed order: there two runs agree up to what rounding does to a training.

    Args:
        chapter: the chapter's name, such as ``"09_named_entities"``.
        parameters: the experiment's parameters.
        metrics: final scores, by split.
        history: one entry per evaluation during training.
        measured: what varies from run to run: device, seconds, tokens per second, memory.
    """
    return {
        "chapter": chapter,
        "parameters": dict(parameters),
        "metrics": dict(metrics),
        "history": [dict(entry) for entry in history],
        "versions": versions(),
        "measured": {**measured, "platform": platform.platform()},
    }


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result depends on."""
    packages = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return packages


def read_records(*paths: Path | str) -> list[dict[str, Any]]:
    """All records below some paths.

    Args:
        *paths: a record (``.json``), a file of one record a line (``.jsonl``), or a folder, such
            as a chapter's ``output_dir``, which is searched for ``record.json`` and ``*.jsonl``.

    Raises:
        FileNotFoundError: if a path does not exist.
        ValueError: if a file is no record, naming file and line.
    """
    records = []
    for path in map(Path, paths):
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such record, file of records or folder")
        folder = [*path.rglob("record.json"), *path.rglob("*.jsonl")]
        files = sorted(folder) if path.is_dir() else [path]
        for file in files:
            lines = file.read_text(encoding="utf-8")
            for number, line in enumerate(_documents(file, lines), start=1):
                records.append(_parse_record(file, number, line))
    return records


def append_record(path: Path | str, record: Mapping[str, Any]) -> None:
    """Add a record as one line at the end of a ``.jsonl`` file."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
    with path.open("a", encoding="utf-8") as file:
        file.write(line)


def _documents(file: Path, text: str) -> Iterable[str]:
    return text.splitlines() if file.suffix == ".jsonl" else [text]


def _parse_record(file: Path, number: int, text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{file}:{number}: expected a JSON record, got {error}") from error
    if not isinstance(record, dict) or not {"parameters", "metrics"} <= record.keys():
        raise ValueError(f"{file}:{number}: expected a record with 'parameters' and 'metrics'")
    return record


def loss_options(record: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a record's loss; benchmarks record theirs as ``options``."""
    parameters = record["parameters"]
    return dict(parameters.get("loss_options", parameters.get("options", {})))


def loss_label(record: Mapping[str, Any]) -> str:
    """A record's loss with its options, such as ``"dsc, alpha=0.1"``."""
    options = (f"{name}={value}" for name, value in loss_options(record).items())
    return ", ".join([record["parameters"]["loss"], *options])


LOSS_WORDS = {
    "ce": "cross entropy",
    "wce": "weighted cross entropy",
    "fl": "focal",
    "dl": "dice",
    "tl": "Tversky",
    "dsc": "self-adjusting dice",
}


def loss_name(record: Mapping[str, Any]) -> str:
    """A record's loss as a reader knows it, such as ``"self-adjusting dice, α 0.1"``.

    Squared denominators, the default, go unsaid. Tversky's prices, that of a false positive first,
    follow its name: ``"Tversky 0.3/0.7, linear"``.
    """
    options = {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in loss_options(record).items()
    }
    loss = record["parameters"]["loss"]
    name = LOSS_WORDS.get(loss, loss)
    if {"fp_weight", "fn_weight"} <= options.keys():
        name += f" {options.pop('fp_weight')}/{options.pop('fn_weight')}"
    linear = options.pop("squared", "True") == "False"
    words = [f"{option} {value}" for option, value in options.items()]
    parts = [word.replace("alpha", "α").replace("_", " ") for word in words]
    return ", ".join([name, *parts, *["linear"] * linear])


SETTINGS = (
    "encoder",
    "epochs",
    "batch_size",
    "learning_rate",
    "max_length",
    "train_size",
    "ratio",
    "precision",
)


def comparable(
    records: Iterable[Mapping[str, Any]],
) -> list[tuple[dict[str, Any], list[Mapping[str, Any]]]]:
    """Records in groups within which losses may be compared, none dropped.

    Args:
        records: records of one corpus.

    Returns:
        For each group, the largest first, what its records have in common (``SETTINGS``; of an
        encoder its name without the folder), and the records.
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for record in records:
        parameters = {**record["parameters"], "encoder": Path(record["parameters"]["encoder"]).name}
        if parameters.get("precision") == "auto":
            del parameters["precision"]  # the device's own
        groups.setdefault(tuple(parameters.get(name) for name in SETTINGS), []).append(record)
    largest_first = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [(dict(zip(SETTINGS, key, strict=True)), group) for key, group in largest_first]


def paired_test(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p-value that two methods, run on the same seeds, differ in the mean.

    A sign-flip permutation test on the paired differences, exact up to 13 pairs. It assumes
    nothing but that, were the methods the same, either could have given either score.

    Args:
        first: scores of one method, by seed.
        second: scores of the other, in the same order of seeds.

    Returns:
        The p-value; with n pairs it is at least ``2 / 2**n``, so five seeds cannot reach 0.05.

    Raises:
        ValueError: if the two differ in length or hold fewer than two scores.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.shape != b.shape or a.size < 2:
        raise ValueError(
            f"expected two equally long lists of 2 or more scores, got {a.size}, {b.size}"
        )
    result = stats.permutation_test(
        (a - b,), np.mean, permutation_type="samples", n_resamples=2**13, random_state=0
    )
    return float(result.pvalue)


@dataclass(frozen=True)
class OverSeeds:
    """A loss over its seeds, and beside the baseline on the same seeds.

    Attributes:
        scores: the score of each seed.
        mean: their mean with its interval.
        gain: mean and interval of the paired differences from the baseline; None for the baseline
            itself, and where fewer than two seeds are shared.
        p_value: what `paired_test` gives for these pairs, or None.
    """

    scores: Mapping[int, float]
    mean: Interval
    gain: Interval | None
    p_value: float | None


def over_seeds(
    records: Iterable[Mapping[str, Any]],
    *,
    split: str = "test",
    metric: str = "f1",
    baseline: str = "ce",
) -> dict[str, OverSeeds]:
    """Each loss of some comparable records, over seeds and against a baseline.

    Args:
        records: those of one group, see `comparable`.
        split: the entry of ``metrics``, such as ``"test"`` or ``"test_tuned"``.
        metric: the score within it.
        baseline: the label of the loss to compare with.

    Returns:
        By `loss_label`, in the order of the records.

    Raises:
        KeyError: if a record lacks that score.
        ValueError: if a loss is recorded twice with the same seed.
    """
    rows = [(loss_label(r), r["parameters"]["seed"], r["metrics"][split][metric]) for r in records]
    frame = pd.DataFrame(rows, columns=["loss", "seed", "score"])
    for label, seed in frame.loc[frame.duplicated(["loss", "seed"]), ["loss", "seed"]].values:
        raise ValueError(f"{label}: seed {seed} is recorded twice")
    by_loss = {str(label): of_loss for label, of_loss in frame.groupby("loss", sort=False)}
    baseline_rows = by_loss.get(baseline, frame[:0])
    summaries = {}
    for label, loss_rows in by_loss.items():
        scores = dict(zip(loss_rows["seed"].tolist(), loss_rows["score"].tolist(), strict=True))
        pairs = loss_rows.merge(baseline_rows, on="seed").sort_values("seed")
        gain = p_value = None
        if label != baseline and len(pairs) > 1:
            first, second = pairs["score_x"].tolist(), pairs["score_y"].tolist()
            gain = interval((pairs["score_x"] - pairs["score_y"]).tolist())
            p_value = paired_test(first, second)
        summaries[label] = OverSeeds(scores, interval(list(scores.values())), gain, p_value)
    return summaries


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table in Markdown in which an interval is never broken over two lines."""
    frame = pd.DataFrame(rows).fillna("").map(lambda cell: str(cell).replace(" [", "\u00a0["))
    frame = frame.map(lambda cell: cell.replace(", ", ",\u00a0") if "[" in cell else cell)
    return str(frame.to_markdown(index=False, disable_numparse=True))

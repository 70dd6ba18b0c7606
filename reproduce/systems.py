"""One run of the grid: a system of the paper, trained with one loss on one corpus, to a record.

    python -m reproduce.systems '{"system": "pairs", ...}' OUT/record.json [RATES] \
        [--states FOLDER]

The workflow says which runs there are, see `reproduce.grid`. A run that was killed goes on
from its last checkpoint; a run that is done keeps its record and no checkpoint.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dicebook import TrainerLoss
from dicelab.corpora import CORPORA, load
from dicelab.corpora.loading import data_folder
from dicelab.corpora.tags import spans
from dicelab.records import runs
from dicelab.tasks import baselines, mrc_ner, pairs, reading, tagging
from dicelab.tasks.entity_reader import head
from dicelab.training.encoders import load_tokenizer, weights_sha256
from dicelab.training.experiment import Experiment
from dicelab.training.frozen import freeze_lower, kept_states
from dicelab.training.sampling import sample
from dicelab.training.trainer import build_loss, device_of, precision_of, train
from reproduce import memory

# What a job says besides the parameters of an experiment.
BESIDES = ("system", "table", "backbone", "habits", "rates", "prints", "script")
SEARCH_SEED = 1000
# What a config calls the dropout of hidden states and of attention; XLNet has one for both.
DROPOUTS = {
    "xlnet": {"dropout": "dropout"},
    "bert": {"dropout": "hidden_dropout_prob", "attention_dropout": "attention_probs_dropout_prob"},
}
Scores = dict[str, float]


@dataclass(frozen=True)
class Prepared:
    """A system on a corpus, ready to be trained and scored.

    Attributes:
        encoded: the encoded corpus.
        tokenizer: the encoder's.
        build_model: makes the model.
        collator: makes batches.
        compute_loss: what the Trainer calls.
        tune: from the logits of the validation split to the threshold with the best score.
        scores: from logits, the name of their split and a threshold to scores.
        best: the score that chooses the epoch.
        by_tuned: whether an epoch is judged at its best threshold.
        floors: scores of the test split without a model.
        ceiling: what a perfect model would reach on the test split, which is less than 100 where
            the encoding loses something: ``recall``, ``f1`` and ``cut``, the words in percent that
            no input of the model holds.
    """

    encoded: Any
    tokenizer: Any
    build_model: Callable[[], Any]
    collator: Any
    compute_loss: Any
    scores: Callable[[Any, str, float], Scores]
    tune: Callable[[Any], float] | None = None
    best: str = "f1"
    by_tuned: bool = False
    floors: dict[str, Scores] = field(default_factory=dict)
    ceiling: Scores = field(default_factory=dict)


def run(
    job: Mapping[str, Any],
    output_dir: str = "",
    rate: float | None = None,
    states: Path | None = None,
) -> dict[str, Any]:
    """Train and score.

    Args:
        job: the parameters of `dicelab.training.experiment.Experiment` without ``output_dir``, and
            ``system``, ``table``, ``backbone``, ``habits``; see `reproduce.grid`.
        output_dir: folder of checkpoints.
        rate: a learning rate that a search has chosen.
        states: a folder of what frozen layers said of an input in earlier runs; None: of no use.

    Returns:
        The record.
    """
    experiment = experiment_of(job, output_dir=output_dir)
    if rate is not None:
        experiment = replace(experiment, learning_rate=rate)
    habits = dict(job.get("habits", {}))
    prepared = SYSTEMS[job["system"]](experiment, habits)
    trained = _fit(experiment, prepared, job, states)
    metrics: dict[str, Any] = {"test": prepared.scores(trained.logits["test"], "test", 0.0)}
    if prepared.tune:
        threshold = prepared.tune(trained.logits["validation"])
        tuned = prepared.scores(trained.logits["test"], "test", threshold)
        metrics["test_tuned"] = {**tuned, "threshold": threshold}
    if prepared.ceiling:
        metrics["ceiling"] = prepared.ceiling
    besides = {name: job[name] for name in BESIDES if name in job}
    commit = getattr(trained.model.config, "_commit_hash", None)  # on the hub
    sizes = {name: len(split) for name, split in prepared.encoded.splits.items()}
    return runs.make_record(
        chapter="dicebook.reproduce",
        parameters={
            **asdict(experiment),
            "encoder": Path(experiment.encoder).name,
            "encoder_commit": commit,
            "encoder_sha256": weights_sha256(experiment.encoder, commit),
            "output_dir": "",
            "rows": sizes,
            "corpus_note": _note(experiment.corpus),
            **besides,
        },
        metrics={**metrics, **prepared.floors},
        history=trained.history,
        measured=trained.measured,
    )


def search(
    job: Mapping[str, Any], states: Path | None = None, folder: Path | None = None
) -> dict[str, float]:
    """The best validation score of each learning rate in ``job["rates"]``, in half the passes.

    The seed is none of the seeds that are reported. Every loss gets the same rates.

    Args:
        job, states: as for `run`.
        folder: where the score of a rate and, as long as it is trained, its checkpoints are kept,
            so that a search that was killed goes on; None: nowhere.
    """
    scores = {}
    for rate in job["rates"]:
        score_file = folder and folder / f"rate-{rate}.json"
        if score_file and score_file.is_file():
            scores[str(rate)] = json.loads(score_file.read_text("utf-8"))
            continue
        experiment = replace(
            experiment_of(job, output_dir=str(folder / f"rate-{rate}") if folder else ""),
            learning_rate=rate,
            seed=SEARCH_SEED,
            epochs=max(1, job["epochs"] // 2),
        )
        habits = dict(job.get("habits", {}))
        prepared = SYSTEMS[job["system"]](experiment, habits)
        history = _fit(experiment, prepared, job, states).history
        scores[str(rate)] = max(entry[f"validation_{prepared.best}"] for entry in history)
        if score_file:
            runs.write_json(score_file, scores[str(rate)])
            shutil.rmtree(experiment.output_dir)  # the checkpoints
    return scores


def experiment_of(job: Mapping[str, Any], **more: Any) -> Experiment:
    """The experiment of a job, which starts as the paper's scripts do, at a bias of 0."""
    parameters = {name: value for name, value in job.items() if name not in BESIDES}
    return Experiment(**parameters, start="zero", **more)


def _fit(
    experiment: Experiment, prepared: Prepared, job: Mapping[str, Any], states: Path | None
) -> Any:
    habits = job.get("habits", {})
    layers = habits.get("frozen_layers")
    division = _division(experiment, prepared, job["system"])
    training = dict(habits.get("training", {}))
    if division.parts > 1:
        training["per_device_train_batch_size"] = experiment.batch_size // division.parts
        training["gradient_accumulation_steps"] = experiment.gradient_accumulation * division.parts
    if division.recompute:
        experiment = replace(experiment, gradient_checkpointing=True)
    name = f"{Path(experiment.corpus).name}-{experiment.seed}.safetensors"
    keeping: contextlib.AbstractContextManager[dict[str, Any]] = contextlib.nullcontext({})
    if layers and states:
        keeping = kept_states(states / name)

    def evaluate(logits: Any, split: Any) -> Scores:
        threshold = prepared.tune(logits) if prepared.tune and prepared.by_tuned else 0.0
        return prepared.scores(logits, "validation", threshold)

    def build_model(layer_states: dict[str, Any]) -> Any:
        model = prepared.build_model()
        if layers:
            freeze_lower(model, layers, layer_states)
        return model

    with keeping as layer_states:
        trained = train(
            experiment,
            build_model=lambda: build_model(layer_states),
            splits=prepared.encoded.splits,
            collator=prepared.collator,
            tokenizer=prepared.tokenizer,
            compute_loss=prepared.compute_loss,
            evaluate=evaluate,
            best=prepared.best,
            arguments=training,
        )
    how = {"micro_batches": division.parts, "recomputed": division.recompute}
    return replace(trained, measured={**trained.measured, **how})


def _note(corpus: str) -> str:
    card = data_folder() / corpus / "card.json"
    return str(json.loads(card.read_text("utf-8")).get("note", "")) if card.is_file() else ""


def _corpus(experiment: Experiment) -> Any:
    return sample(load(experiment.corpus, task=task_of(experiment.corpus)), experiment)


def task_of(corpus: str) -> str:
    """The task of a corpus; a set of `data_scripts.augment_pairs` is one of pairs."""
    return CORPORA[corpus].task if corpus in CORPORA else "pairs"


def _config(experiment: Experiment, habits: Mapping[str, Any]) -> dict[str, float]:
    names = DROPOUTS.get(memory.size_of(experiment.encoder).kind, DROPOUTS["bert"])
    return {names[key]: habits[key] for key in names if key in habits}


def _division(experiment: Experiment, prepared: Prepared, system: str) -> memory.Division:
    """Into how many parts a step's batch must go here."""
    lengths = map(len, prepared.encoded.splits["train"]["input_ids"])
    device = device_of(experiment)
    return memory.divided(
        memory.size_of(experiment.encoder),
        experiment.batch_size,
        max(lengths),
        memory.room_on(device),
        whole=memory.is_whole(system, experiment.loss),
        half=precision_of(experiment.precision, device) != "fp32",
    )


def _ceiling(recall: float, cut: int = 0, sentences: Sequence[Sequence[str]] = ()) -> Scores:
    words = sum(map(len, sentences))
    return {
        "recall": recall,
        "f1": 200 * recall / (100 + recall),
        "cut": 100 * cut / max(1, words),
    }


def _tagger(experiment: Experiment, habits: Mapping[str, Any]) -> Prepared:
    """One label at each word, or at each character of Chinese words."""
    corpus = _corpus(experiment)
    facts = CORPORA[experiment.corpus]
    entities = any(tagging.OUTSIDE in tags for tags in corpus["train"]["tags"])
    if facts.language == "zh" and not entities:
        corpus = tagging.by_character(corpus)
    by_word = facts.scorer == "accuracy"
    texts = (" ".join(tokens) for tokens in corpus["train"]["tokens"])
    tokenizer = load_tokenizer(experiment.encoder, texts, max_length=experiment.max_length)
    encoded = tagging.encode(corpus, tokenizer, max_length=experiment.max_length)
    score = tagging.score_words if by_word else tagging.score

    def scores(logits: Any, split: str, bias: float) -> Scores:
        rows = encoded.splits[split]
        tags = tagging.decode(logits, rows, encoded.labels, outside_bias=bias)
        return score(rows["tags"], tags)

    def tune(logits: Any) -> float:
        return tagging.tune_outside_bias(logits, encoded.splits["validation"], encoded.labels)[0]

    loss = build_loss(experiment, experiment.loss, encoded.counts().tolist())
    return Prepared(
        encoded,
        tokenizer,
        lambda: tagging.model(
            experiment.encoder, tokenizer, encoded.labels, **_config(experiment, habits)
        ),
        tagging.collator(tokenizer),
        TrainerLoss(loss),
        scores,
        tune if entities else None,
        floors=baselines.of_tags(corpus, by_word=by_word),
        ceiling=_ceiling(
            encoded.best_recall["test"], encoded.cut["test"], corpus["test"]["tokens"]
        ),
    )


def _mrc(experiment: Experiment, habits: Mapping[str, Any]) -> Prepared:
    """BERT-MRC: a question for each type of entity."""
    corpus, language = _corpus(experiment), CORPORA[experiment.corpus].language
    kinds = sorted({span.type for tags in corpus["train"]["tags"] for span in spans(tags)})
    tiny = experiment.encoder == "tiny"
    # An encoder that has never read gets the names of the types, which it can learn.
    texts = [*(" ".join(tokens) for tokens in corpus["train"]["tokens"]), *kinds * 20]
    tokenizer = load_tokenizer(experiment.encoder, texts, max_length=experiment.max_length)
    encoded = mrc_ner.encode(
        corpus,
        tokenizer,
        queries={kind: kind for kind in kinds} if tiny else None,
        language=language,
        max_length=min(experiment.max_length, tokenizer.model_max_length),
    )

    def scores(logits: Any, split: str, threshold: float) -> Scores:
        gold = [spans(tags, strict=True) for tags in corpus[split]["tags"]]
        return mrc_ner.score(gold, mrc_ner.decode(logits, encoded, split, threshold=threshold))

    loss = build_loss(experiment, experiment.loss, encoded.counts(), binary=True)
    answerable = habits.get("answerable", 0.0)
    options = {
        "dropout": habits.get("dropout", 0.1),
        "answerable": answerable > 0,
        "head_layers": habits.get("head_layers", 1),
    }
    return Prepared(
        encoded,
        tokenizer,
        lambda: mrc_ner.model(
            experiment.encoder,
            tokenizer,
            queries=encoded.queries,
            config=_config(experiment, habits),
            **options,
        ),
        mrc_ner.collator(tokenizer),
        mrc_ner.MrcLoss(
            loss,
            tuple(habits.get("weights", (1.0, 1.0, 1.0))),
            answerable,
            masked=habits.get("masked", True),
        ),
        scores,
        lambda logits: mrc_ner.tune_threshold(logits, encoded, "validation"),
        by_tuned=True,
        floors=baselines.of_tags(corpus, by_word=False),
        ceiling=_ceiling(
            encoded.best_recall["test"], encoded.cut["test"], corpus["test"]["tokens"]
        ),
    )


def _reading(by_choice: bool, experiment: Experiment, habits: Mapping[str, Any]) -> Prepared:
    """A span in a text, chosen among the positions or decided at each of them."""
    corpus, facts = _corpus(experiment), CORPORA[experiment.corpus]
    all_of, rules = facts.scorer == "quoref", {"language": facts.language}
    texts = (f"{row['question']} {row['context']}" for row in corpus["train"])
    tokenizer = load_tokenizer(experiment.encoder, texts, max_length=experiment.max_length)
    encoded = reading.encode(
        corpus,
        tokenizer,
        max_length=experiment.max_length,
        stride=habits.get("stride", experiment.max_length // 3),
    )
    gold = {name: corpus[name]["answers"][:] for name in ("validation", "test")}
    several = all_of and not by_choice  # a choice has one span to give

    def scores(logits: Any, split: str, threshold: float) -> Scores:
        if several:
            lists = reading.decode_several(logits, encoded, split, threshold=threshold)
            metrics = reading.score(lists, gold[split], all_of=True)
        else:
            answers = reading.decode(logits, encoded, split, as_choice=by_choice)
            metrics = reading.score(
                answers, gold[split], threshold=threshold, all_of=all_of, **rules
            )
        return {**metrics, "em": metrics["exact_match"]}

    def tune(logits: Any) -> float:
        if several:
            return reading.tune_threshold_of_several(logits, encoded, "validation")
        answers = reading.decode(logits, encoded, "validation", as_choice=by_choice)
        return reading.tune_threshold(answers, gold["validation"], facts.language)

    def reader() -> Any:
        model = reading.model(experiment.encoder, tokenizer, **_config(experiment, habits))
        if habits.get("head_layers", 1) > 1:
            model.qa_outputs = head(model.config.hidden_size, 2, habits["head_layers"])
        return model

    loss: Any = reading.choice
    if not by_choice or experiment.loss != "ce":
        binary = build_loss(experiment, experiment.loss, encoded.counts(), binary=True)
        loss = reading.ChoiceDecisions(binary) if by_choice else reading.Decisions(binary)
    return Prepared(
        encoded,
        tokenizer,
        reader,
        reading.collator(tokenizer, as_choice=by_choice, marked=by_choice),
        loss,
        scores,
        tune,
        by_tuned=True,
        floors=baselines.of_questions(corpus, all_of=all_of, **rules),
        ceiling=_ceiling(100 - 100 * encoded.lost["test"] / max(1, len(gold["test"]))),
    )


def _choice(experiment: Experiment, habits: Mapping[str, Any]) -> Prepared:
    return _reading(True, experiment, habits)


def _decisions(experiment: Experiment, habits: Mapping[str, Any]) -> Prepared:
    return _reading(False, experiment, habits)


def _pairs(experiment: Experiment, habits: Mapping[str, Any]) -> Prepared:
    """One label for a sentence or a pair."""
    corpus = _corpus(experiment)
    single = "sentence" in corpus["train"].column_names
    columns = ("sentence",) if single else ("sentence1", "sentence2")
    texts = (" ".join(row[name] for name in columns) for row in corpus["train"])
    tokenizer = load_tokenizer(experiment.encoder, texts, max_length=experiment.max_length)
    encoded = pairs.encode(corpus, tokenizer, max_length=experiment.max_length)
    gold = {name: list(encoded.splits[name]["label"]) for name in ("validation", "test")}

    def scores(logits: Any, split: str, threshold: float) -> Scores:
        return pairs.score(gold[split], pairs.decode(logits, threshold=threshold).tolist())

    loss = build_loss(experiment, experiment.loss, encoded.counts().tolist())
    two = len(encoded.labels) == 2
    return Prepared(
        encoded,
        tokenizer,
        lambda: pairs.model(
            experiment.encoder, tokenizer, encoded.labels, **_config(experiment, habits)
        ),
        pairs.collator(tokenizer),
        TrainerLoss(loss),
        scores,
        (lambda logits: pairs.tune_threshold(logits, gold["validation"])) if two else None,
        best="accuracy" if single else "f1",
        floors=baselines.of_labels(corpus),
    )


SYSTEMS: dict[str, Callable[[Experiment, Mapping[str, Any]], Prepared]] = {
    "tagger": _tagger,
    "mrc": _mrc,
    "choice": _choice,
    "decisions": _decisions,
    "pairs": _pairs,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one job, or search for its learning rate, and write the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("job", type=json.loads, help="parameters, as JSON")
    parser.add_argument("out", type=Path, help="the record to write, or rates.json of a search")
    parser.add_argument("rates", type=Path, nargs="?", help="the rates.json that a search has left")
    parser.add_argument("--states", type=Path, help="folder of what frozen layers say of an input")
    args = parser.parse_args(arguments)
    if args.out.name == "rates.json":
        runs.write_json(args.out, search(args.job, args.states, args.out.parent))
        return 0
    rates = json.loads(args.rates.read_text("utf-8")) if args.rates else {}
    rate = float(max(rates, key=lambda r: (rates[r], -float(r)))) if rates else None
    record = run(args.job, str(args.out.parent), rate, args.states)
    runs.write_json(args.out, record)
    shutil.rmtree(args.out.parent / args.job["loss"])  # the checkpoints
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""What a script says of its corpus, and the command line that all scripts share."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from datasets import Dataset

from dicelab.atomic import atomic, write_json
from dicelab.corpora import registry
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import validate
from dicelab.corpora.registry import CORPORA, Corpus

from .fetch import FetchError, RemoteFile, fetch, record_sums, unverified

#: convert(raw folder, seed, repairs) -> split name to dataset.
Convert = Callable[[Path, int, Counter[str]], Mapping[str, Dataset]]

#: split name -> what is counted -> how many; a count given as text is shown but not checked.
Published = Mapping[str, Mapping[str, int | str]]


@dataclass(frozen=True)
class Recipe:
    """How a corpus is prepared: where its files come from, how they are converted, what to expect.

    Args:
        name: Its name in the registry, which has its title, task and licence.
        citation: Whom to cite.
        convert: From the raw folder to the splits. It may raise CorpusError.
        files: What is downloaded; none for a licensed corpus.
        folders: Other names of its folder on a mirror.
        published: The counts its publishers (or the paper) give.
        published_by: Who published these counts.
        note: What a user should know beside.
    """

    name: str
    citation: str
    convert: Convert
    files: tuple[RemoteFile, ...] = ()
    folders: tuple[str, ...] = ()
    published: Published = field(default_factory=dict)
    published_by: str = ""
    note: str = ""

    @classmethod
    def of(cls, name: str, convert: Convert) -> Recipe:
        """The recipe that ``registry.toml`` holds, with its converter.

        A file's address there is ``base`` and its ``path``, by default its ``name``.
        """
        facts = dict(registry.RECIPES[name])
        base, folders = facts.pop("base", ""), tuple(facts.pop("folders", ()))
        rows = [dict(row) for row in facts.pop("files", ())]
        files = tuple(RemoteFile(url=base + row.pop("path", row["name"]), **row) for row in rows)
        return cls(name=name, convert=convert, files=files, folders=folders, **facts)

    @property
    def corpus(self) -> Corpus:
        """Its entry in the registry."""
        return CORPORA[self.name]

    @property
    def verified(self) -> str:
        """How its bytes are verified, in a word."""
        published = [n for split in self.published.values() for n in split.values()]
        checked = any(isinstance(n, int) for n in published)
        counts = f"counts {'checked against' if checked else 'shown beside'} the published ones"
        known = [file.sha256 is not None for file in self.files]
        if not known:
            return f"your own files; {counts}"
        if all(known):
            return "sha256 of the upstream files"
        if any(known):
            return "sha256 where known, else recorded at first download"
        return f"sha256 recorded at first download; {counts}"


def main(recipe: Recipe, argv: Sequence[str] | None = None) -> int:
    """The command line of a script.

    Args:
        recipe: What it prepares.
        argv: Arguments; by default the command's.

    Returns:
        0; or 1 after one clear sentence on stderr, with nothing half-written.
    """
    options = _parser(recipe).parse_args(argv)
    try:
        return _prepare(recipe, options)
    except (FetchError, CorpusError, OSError) as error:
        print(f"{recipe.name}: {error}", file=sys.stderr)
        return 1


def _parser(recipe: Recipe) -> argparse.ArgumentParser:
    corpus = recipe.corpus
    parser = argparse.ArgumentParser(
        prog=f"dicebook data {corpus.name}",
        description=f"{corpus.title}. Licence: {corpus.licence}.",
        epilog=corpus.place or None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(os.environ.get("DICEBOOK_DATA", "data")),
        help=f"folder of all corpora; this one goes to OUT/{corpus.name} "
        "(default: $DICEBOOK_DATA, else data)",
    )
    if recipe.files:
        parser.add_argument(
            "--mirror",
            default=os.environ.get("DICEBOOK_MIRROR") or None,
            help="folder or URL to read in place of the upstream address, laid out as one folder a "
            "corpus (default: $DICEBOOK_MIRROR)",
        )
    parser.add_argument(
        "--source",
        type=Path,
        help="folder of your own copy, in place of a download"
        if recipe.files
        else f"folder of your licensed files (default: OUT/{corpus.name}/raw)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of splits drawn here")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument(
        "--accept-counts",
        action="store_true",
        help="write the corpus even where its counts differ from the published ones",
    )
    return parser


def _prepare(recipe: Recipe, options: argparse.Namespace) -> int:
    corpus = recipe.corpus
    print(f"{corpus.title}\nLicence: {corpus.licence}\nCite: {recipe.citation}")
    if recipe.note:
        print(recipe.note)
    began = time.perf_counter()
    folder = options.out / corpus.name
    raw = folder / "raw"
    files = () if options.source else recipe.files
    if files:
        for file in files:
            fetch(
                file,
                raw,
                mirror=options.mirror,
                folders=(corpus.name, *recipe.folders),
                progress=not options.quiet,
            )
    else:
        raw = options.source or raw
        if not raw.is_dir() or not any(raw.iterdir()):
            raise FetchError(f"expected your own files in {raw}.\n{corpus.place}")
    repairs: Counter[str] = Counter()
    try:
        splits = recipe.convert(raw, options.seed, repairs)
        counts = {split: count(data, task=corpus.task) for split, data in splits.items()}
        rows = compared(counts, recipe.published)
        print(table(rows, recipe.published_by))
        for kind, number in sorted(repairs.items()):
            print(f"  {kind}: {number:,}")
        wrong = [f"{r[0]} {r[1]}: {_text(r[2])}, not {_text(r[3])}" for r in rows if differs(r)]
        if wrong and not options.accept_counts:
            raise CorpusError(
                f"the counts differ from the published ones ({'; '.join(wrong)}), so nothing was "
                "written; --accept-counts writes it all the same"
            )
    except (FetchError, CorpusError) as error:
        if not (doubtful := unverified(files, raw)):
            raise
        raise CorpusError(
            f"{error}. The hash of {', '.join(doubtful)} is not known, so it may be another file: "
            f"remove it from {raw} to get it again, or put the right one there"
        ) from None
    record_sums(files, raw)
    card_path = folder / "card.json"
    card_path.unlink(missing_ok=True)  # no card, no corpus: it is written when all else is
    for split, data in splits.items():
        write(validate(data, task=corpus.task), folder / split, task=corpus.task)
    card = {
        "name": corpus.name,
        "title": corpus.title,
        "task": corpus.task,
        "licence": corpus.licence,
        "citation": recipe.citation,
        "sources": [file.url for file in files] or [str(raw)],
        "seed": options.seed,
        "counts": counts,
        "repairs": dict(repairs),
    }
    write_json(card_path, card)
    print(f"Written to {folder} in {time.perf_counter() - began:.1f} s")
    return 0


def count(dataset: Dataset, *, task: str) -> dict[str, int]:
    """What is counted of a split.

    Args:
        dataset: Rows in the form of the task.
        task: ``"tagging"`` counts sentences, tokens and entities (if the tags are IOB2);
            ``"reading"`` paragraphs, questions and answerable questions; ``"pairs"`` pairs and
            positive ones; ``"sentences"`` sentences, and those with each label; ``"labels"``
            sentences, those with several labels, labels in all, and how many labels there are.
    """
    if task == "tagging":
        from dicelab.corpora.tags import is_entity_tag, spans

        tags = dataset["tags"][:]
        counts = {"sentences": len(dataset), "tokens": sum(map(len, tags))}
        if all(is_entity_tag(tag) for tag in {tag for row in tags for tag in row}):
            counts["entities"] = sum(len(spans(row)) for row in tags)
        return counts
    if task == "reading":
        answerable = sum(bool(answers["text"]) for answers in dataset["answers"][:])
        paragraphs = len(set(zip(dataset["title"][:], dataset["context"][:], strict=True)))
        return {"paragraphs": paragraphs, "questions": len(dataset), "answerable": answerable}
    if task == "labels":
        rows = dataset["labels"][:]
        several = sum(len(labels) > 1 for labels in rows)
        kinds = len({label for labels in rows for label in labels})
        total = sum(map(len, rows))
        return {"sentences": len(rows), "several": several, "labels": total, "kinds": kinds}
    labels = Counter(dataset["label"][:])
    if task == "pairs":
        return {"pairs": len(dataset), "positive": labels[1]}
    return {"sentences": len(dataset)} | {f"label {k}": labels[k] for k in sorted(labels)}


Row = tuple[str, str, int | None, int | str | None]


def compared(counts: Mapping[str, Mapping[str, int]], published: Published) -> list[Row]:
    """Split, what is counted, our count and the published one; the split "all" is the sum."""
    total: Counter[str] = Counter()
    for split_counts in counts.values():
        total.update(split_counts)
    rows: list[Row] = []
    for split in dict.fromkeys([*counts, *published]):
        ours, theirs = {**counts, "all": total}.get(split, {}), published.get(split, {})
        names = theirs if split == "all" else dict.fromkeys([*ours, *theirs])
        rows += [(split, what, ours.get(what), theirs.get(what)) for what in names]
    return rows


def differs(row: Row) -> bool:
    """Whether our count is not the published number; one that is given as text is not compared."""
    return isinstance(row[3], int) and row[2] != row[3]


def table(rows: Sequence[Row], published_by: str = "") -> str:
    """Our counts beside the published ones, a line a count."""
    lines = [f"{'split':12} {'what':12} {'ours':>12} {'published':>12}"]
    for row in rows:
        split, what, ours, theirs = row
        mark = "  differs" if differs(row) else ""
        lines.append(f"{split:12} {what:12} {_text(ours):>12} {_text(theirs):>12}{mark}")
    return "\n".join([*lines, *([f"published by: {published_by}"] if published_by else [])])


def _text(value: int | str | None) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:,}"


def write(dataset: Dataset, stem: Path, *, task: str) -> Path:
    """Write a split in its canonical form, atomically.

    Args:
        dataset: Rows in the form of the task.
        stem: The path without its suffix.
        task: ``"tagging"`` makes ``.conll`` (token, tab, tag), ``"reading"`` a ``.json`` (SQuAD
            2.0), the others ``.jsonl``.

    Returns:
        The path written.
    """
    if task == "tagging":
        from dicelab.corpora.conll import write_conll

        path = stem.with_name(stem.name + ".conll")
        with atomic(path) as temporary:
            write_conll(dataset, temporary)
        return path
    if task == "reading":
        from dicelab.corpora.squad import write_squad

        path = stem.with_name(stem.name + ".json")
        write_squad(dataset, path)
        return path
    path = stem.with_name(stem.name + ".jsonl")
    with atomic(path) as temporary:
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in dataset.to_list()]
        temporary.write_bytes("".join(lines).encode())
    return path

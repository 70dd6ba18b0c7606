"""Every corpus that dicebook knows by name: what it is, and who holds what else about it.

The facts stand in ``registry.toml``, once. The scripts under ``data_scripts``,
``dicelab.corpora.load``, the grid and the scorers read them from here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from typing import Any

from dicelab.corpora.errors import FACTS, CorpusError

SPLITS = ("train", "validation", "test")

_SPLIT_NAMES = {word: split for split, words in FACTS["splits"].items() for word in words}

#: What lies beside a corpus and is none of it.
BESIDE = re.compile(
    r"\..*|card\.json|SOURCE\.tsv|SHA256SUMS|.*(README|LICEN[CS]E|CITATION|_note)\b.*"
    r"|.*\.(md|html?|pdf|xml|stats|py|sh|bib|zip|gz|tgz|tar)",
    re.IGNORECASE,
)


def split_of(name: str) -> str | None:
    """The split that the words of a file's name tell; None for what is none or several.

    Args:
        name: such as ``"train.conll"`` or ``"eng.testa"``; of a README or a licence there is none.
    """
    words = re.split(r"[^a-z]+", name.lower())
    splits = {_SPLIT_NAMES[word] for word in words if word in _SPLIT_NAMES}
    return None if len(splits) != 1 or BESIDE.fullmatch(name) else splits.pop()


@dataclass(frozen=True)
class Corpus:
    """A corpus.

    Attributes:
        name: Its name for ``load``, and the name of its folder.
        title: One line on what it is.
        task: The form of its rows: ``"tagging"``, ``"reading"``, ``"pairs"``, ``"sentences"`` or
            ``"labels"`` (any number of them a sentence).
        language: ``"en"`` or ``"zh"``.
        scorer: By which rules it is scored: ``"seqeval"`` (entities, or Chinese words with their
            tags, strict), ``"accuracy"`` (of tags or labels), ``"squad"``, ``"quoref"`` (all
            answers are needed), ``"cmrc"`` (Chinese), ``"f1"`` (of label 1), ``"macro_f1"`` (over
            labels).
        licence: Under which terms its owners give it.
        examples: How many it has to train on; 0 where it need not be known beforehand.
        subwords: Of an example, roughly, by BERT's tokenizers.
        types: Of entities; 0 where there are none.
        splits: The splits that a prepared copy has; ``load`` draws the others.
        paper: Its name in the paper's tables; empty for a corpus that is not in them.
        script: Module and arguments of the script under ``data_scripts`` that prepares it; empty
            for a corpus that comes with dicebook.
        place: For a licensed corpus, which files of it to put where; empty where the script
            downloads it.
    """

    name: str
    title: str
    task: str
    language: str
    scorer: str
    licence: str
    examples: int = 0
    subwords: int = 40
    types: int = 0
    splits: tuple[str, ...] = SPLITS
    paper: str = ""
    script: str = ""
    place: str = ""

    def command(self, out: object = "data") -> str:
        """The command that prepares it in a folder; empty for a corpus that comes with dicebook."""
        return f"dicebook data {self.name} --out {out}" if self.script else ""


#: name -> where its files are, with their sha256, and the counts its publishers give.
RECIPES: dict[str, dict[str, Any]] = {}


def _corpora() -> dict[str, Corpus]:
    text = (files(__package__) / "registry.toml").read_text(encoding="utf-8")
    corpora = {}
    for name, facts in tomllib.loads(text).items():
        splits = tuple(facts.pop("splits", SPLITS))
        RECIPES[name] = facts.pop("recipe", {})
        corpora[name] = Corpus(**{"name": name, "script": name, **facts}, splits=splits)
    return corpora


#: name -> corpus, for every corpus that dicebook knows.
CORPORA = _corpora()

#: name -> task, for the corpora that a script prepares.
REGISTERED = {name: corpus.task for name, corpus in CORPORA.items() if corpus.script}

#: name -> task, for the corpora that come with dicebook.
EMBEDDED = {name: corpus.task for name, corpus in CORPORA.items() if not corpus.script}


def corpus_named(name: str, *, task: str | None = None) -> Corpus:
    """The corpus of a name.

    Args:
        name: One of ``CORPORA``.
        task: The task that it must be for; None for any.

    Raises:
        CorpusError: The name is unknown, or the corpus is for another task.
    """
    if name not in CORPORA:
        raise CorpusError(f"unknown corpus {name!r}: expected one of {', '.join(CORPORA)}")
    corpus = CORPORA[name]
    if task is not None and corpus.task != task:
        raise CorpusError(f"{name!r} is a corpus for {corpus.task}, not for {task}")
    return corpus


def language_of(name: str, language: str = "auto", texts: Iterable[str] = ()) -> str:
    """The language whose questions and rules of scoring a corpus gets.

    Args:
        name: One of ``CORPORA``, or what a corpus of the reader's own is called by.
        language: ``"en"``, ``"zh"``, or ``"auto"``: that of the registered corpus, or what the
            texts look like.
        texts: Of a corpus of the reader's own: ``"zh"`` where most signs are Chinese, else
            ``"en"``, whose rules suit every language that puts spaces between words.

    Raises:
        CorpusError: Another language, or ``"auto"`` for a corpus that is not registered and has no
            texts.
    """
    if language == "auto" and name in CORPORA:
        return CORPORA[name].language
    signs = "".join(islice(texts, 1000))
    if language == "auto" and signs:
        chinese = sum("\u3400" <= sign <= "\u9fff" for sign in signs)
        return "zh" if chinese > 0.3 * len(signs) else "en"
    if language not in ("en", "zh"):
        own = f"'en' or 'zh' for a corpus of your own, {name!r}"
        expected = own if language == "auto" else "one of auto, en, zh"
        raise CorpusError(f"parameter 'language': expected {expected}, got {language!r}")
    return language

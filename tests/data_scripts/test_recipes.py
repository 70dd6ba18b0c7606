"""The scripts of all corpora: on the real files, and on small ones in the layout of the real."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from data_scripts.__main__ import recipes
from data_scripts.augment_pairs import PRINTED
from data_scripts.corpus import count
from data_scripts.ontonotes4_zh import split_of
from dicelab.__main__ import main as command
from dicelab.corpora import CORPORA, CorpusError, load, read_file, validate
from dicelab.corpora.delimited import EMPTY, FRAGMENTS
from dicelab.corpora.squad import NOT_FOUND, SHIFTED, read_squad
from dicelab.corpora.trees import NEUTRAL

ROOT = Path(__file__).resolve().parents[2]
RECIPES = {recipe.name: recipe for recipe in recipes()}
#: Of a corpus whose files may be here whole, the name of their folder.
FREE = {
    **{name: name for name in ("wnut17", "wikigold", "uner_zh_gsd", "ud_en_ewt", "mrpc")},
    **{f"crossner_{domain}": "crossner" for domain in ("ai", "science")},
    **{"ud_zh": "ud_zh_gsd_r1.4", "sst2": "sst", "sst5": "sst", "goemotions": "goemotions"},
}
LARGE = ("ud_en_ewt", "goemotions")


def run(name: str, out: Path, *options: str) -> int:
    return command(["data", name, "--out", str(out), *options])


def files_in(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_every_registered_corpus_has_its_script():
    by_script = {name: corpus for name, corpus in CORPORA.items() if corpus.script}
    augmented = {n for n, c in by_script.items() if c.script.startswith("augment_pairs")}
    assert RECIPES.keys() == by_script.keys() - augmented
    assert augmented == {f"qqp_{name}" for name in PRINTED}
    for recipe in RECIPES.values():
        assert (ROOT / "data_scripts" / f"{recipe.corpus.script.split()[0]}.py").is_file()
        assert recipe.citation
        assert bool(recipe.files) != bool(recipe.corpus.place)  # downloaded, or put there by hand
        assert not recipe.published or recipe.published_by
        assert all(file.url.startswith("https://") for file in recipe.files)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in LARGE else ()) for n in FREE]
)
def test_a_free_corpus_end_to_end(real_corpus, name, tmp_path, capsys):
    mirror, recipe = real_corpus(FREE[name]).parent, RECIPES[name]
    task = recipe.corpus.task
    assert run(name, tmp_path, "--mirror", str(mirror), "--quiet") == 0
    shown = capsys.readouterr().out
    assert "differs" not in shown
    assert recipe.corpus.licence in shown
    assert recipe.citation in shown
    card = json.loads((tmp_path / name / "card.json").read_text(encoding="utf-8"))
    loaded = load(name, task=task, root=tmp_path)
    held, counted = Counter(), Counter()  # together, for a split may be drawn as one loads
    for of, numbers in ((held, loaded), (counted, card["counts"])):
        for split in numbers.values():
            of.update(split if isinstance(split, dict) else count(split, task=task))
    assert {what: n for what, n in held.items() if n} == {w: n for w, n in counted.items() if n}
    for split, theirs in recipe.published.items():
        for what, number in theirs.items():
            ours = card["counts"].values() if split == "all" else [card["counts"][split]]
            assert sum(counts[what] for counts in ours) == number


@pytest.mark.parametrize(
    ("name", "file", "split"),
    [
        ("quoref", "quoref-dev-v0.1.json", "test"),
        ("cmrc2018", "cmrc2018_trial.json", "validation"),
        ("cmrc2018", "cmrc2018_dev.json", "test"),
    ],
)
def test_the_questions_at_hand_have_their_published_count(real_corpus, name, file, split):
    found = read_squad(real_corpus(name) / file, all_answers=name == "quoref")
    assert len(found) == RECIPES[name].published[split]["questions"]


def squad(id_: str, *answers: tuple[str, int]) -> str:
    said = [{"text": text, "answer_start": start} for text, start in answers]
    asked = {"context": "Ann met Bob.", "qas": [{"id": id_, "question": "Who?", "answers": said}]}
    return json.dumps({"version": "1.1", "data": [{"title": "T", "paragraphs": [asked]}]})


def conll03(name: str) -> str:
    return f"-DOCSTART- -X- O O\n\n{name} NNP I-NP I-ORG\nInc NNP I-NP I-ORG\n. . O O\n"


def chinese(numbers: list[int], encoding: str) -> dict[str, str | bytes]:
    tree = "<S ID=1>\n( (IP (NR 中国) (CD {})) )\n</S>\n"
    return {f"chtb_{n:03}.fid": tree.format(n).encode(encoding) for n in numbers}


def ontonotes5(split: str, genre: str) -> str:
    return f"#begin document\nd 0 0 {split}_{genre} NN * - - - s (ORG) -\n"


SPLITS = ("train", "validation", "test")


def alike(*rows: str) -> dict[str, list[str]]:
    return {split: list(rows) for split in SPLITS}


TREES = "(4 (3 Very) (3 good))\n(2 (2 A) (2 film))\n(1 (2 Too) (1 long))\n"
TREE_FILES = {f"trees/{name}.txt": TREES for name in ("train", "dev", "test")}
NAMES = '<DOC>\n<ENAMEX TYPE="ORG">中 国</ENAMEX> 人\n</DOC>\n'
COMMENTS = "So glad, but oh! \t0,1\tabc\nFine.\t2\tdef\n"
CTB5 = {"train": [1, 270, 400, 1151], "validation": [301, 325], "test": [271, 300]}
CTB6 = {"train": [81, 900, 3079], "validation": [41, 3109], "test": [1, 1072, 3145]}
#: Corpus -> the files of a small one, and what is read of each split.
LAYOUTS = {
    "conll03": (
        {name: conll03(name) for name in ("eng.train", "eng.testa", "eng.testb")},
        {
            split: [f"{name}/B-ORG Inc/I-ORG ./O"]
            for split, name in zip(
                ("train", "validation", "test"),
                ("eng.train", "eng.testa", "eng.testb"),
                strict=True,
            )
        },
    ),
    "wsj": (
        {
            f"wsj/{n:02}/wsj_{n:02}01.mrg": f"( (S (CD {n}) (-NONE- *) (. .)) )\n"
            for n in (0, 18, 19, 21, 22, 24)
        },
        {
            "train": ["0/CD ./.", "18/CD ./."],
            "validation": ["19/CD ./.", "21/CD ./."],
            "test": ["22/CD ./.", "24/CD ./."],
        },
    ),
    "ctb5": (
        chinese([n for of in CTB5.values() for n in of], "gb18030"),
        {split: [f"中国/NR {n}/CD" for n in numbers] for split, numbers in CTB5.items()},
    ),
    "ctb6": (
        chinese([n for of in CTB6.values() for n in of], "utf-8"),
        {split: [f"中国/NR {n}/CD" for n in numbers] for split, numbers in CTB6.items()},
    ),
    "ontonotes5": (  # without the New Testament, pt
        {
            f"{split}/{genre}/a.gold_conll": ontonotes5(split, genre)
            for split in ("train", "development", "test")
            for genre in ("nw", "pt")
        },
        {
            "train": ["train_nw/B-ORG"],
            "validation": ["development_nw/B-ORG"],
            "test": ["test_nw/B-ORG"],
        },
    ),
    "ontonotes4_zh": (
        {f"x/{name}.name": NAMES for name in ("chtb_0325", "chtb_0002", "cbs_0001")},
        alike("中/B-ORG 国/I-ORG 人/O"),
    ),
    "sst5": (
        TREE_FILES,
        alike("Very good: 4", "A film: 2", "Too long: 1"),
    ),
    "sst2": (
        TREE_FILES,
        alike("Very good: 1", "Too long: 0"),
    ),
    "goemotions": (
        {f"{name}.tsv": COMMENTS for name in ("train", "dev", "test")}
        | {"labels.txt": "joy\nfear\nneutral"},
        alike("So glad, but oh!: ['joy', 'fear']", "Fine.: ['neutral']"),
    ),
    "squad11": (
        {
            "train-v1.1.json": squad("a", ("Ann", 0)),
            "dev-v1.1.json": squad("b", ("Ann", 0), ("Bob", 8)),
        },
        {"train": ["a: ['Ann']"], "test": ["b: ['Ann', 'Bob']"]},
    ),
    "squad20": (
        {"train-v2.0.json": squad("a"), "dev-v2.0.json": squad("b", ("Ann", 0))},
        {"train": ["a: []"], "test": ["b: ['Ann']"]},
    ),
    "cmrc2018": (
        {
            "cmrc2018_train.json": squad("a", ("Ann", 0)),
            "cmrc2018_trial.json": squad("b", ("Bob", 8)),
            "cmrc2018_dev.json": squad("c", ("Bob", 7), ("x", 0)),
        },
        {"train": ["a: ['Ann']"], "validation": ["b: ['Bob']"], "test": ["c: ['Bob']"]},
    ),
}
REPAIRS = {"sst2": {NEUTRAL: 3}, "cmrc2018": {SHIFTED: 1, NOT_FOUND: 1}}


def put(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def as_text(row: dict) -> str:
    if "tags" in row:
        return " ".join(f"{w}/{tag}" for w, tag in zip(row["tokens"], row["tags"], strict=True))
    if "answers" in row:
        return f"{row['id']}: {row['answers']['text']}"
    return f"{row['sentence']}: {row.get('label', row.get('labels'))}"


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_small_corpus_in_the_layout_of_the_real_one(name, tmp_path):
    files, expected = LAYOUTS[name]
    repairs: Counter[str] = Counter()
    splits = RECIPES[name].convert(put(tmp_path, files), 0, repairs)
    assert {split: list(map(as_text, rows)) for split, rows in splits.items()} == expected
    for repair, times in REPAIRS.get(name, {}).items():
        assert repairs[repair] == times


def test_the_parallel_part_of_ontonotes4_is_split_by_its_numbers():
    found = [split_of(f"{n}.name") for n in ("ectb_1001", "ectb_1078", "ectb_1079", "x_0001")]
    assert found == ["validation", "test", "train", "train"]


def test_a_treebank_without_one_of_its_files_is_named(tmp_path):
    put(tmp_path, {"trees/train.txt": TREES})
    with pytest.raises(CorpusError, match=r"expected trees_dev\.txt or dev\.txt in"):
        RECIPES["sst5"].convert(tmp_path, 0, Counter())


@pytest.mark.parametrize("line", ["Fine.\t3\tdef", "Fine.\t2", "Fine.\t\tdef", "Fine.\tx\tdef"])
def test_a_wrong_line_of_goemotions_is_told(tmp_path, line):
    files, _ = LAYOUTS["goemotions"]
    put(tmp_path, {**files, "dev.tsv": f"Good.\t0\tabc\n{line}\n"})
    with pytest.raises(CorpusError, match=r"dev\.tsv:2: expected comment, labels from 0 to 2"):
        RECIPES["goemotions"].convert(tmp_path, 0, Counter())


def test_ritter_is_split_by_the_seed_and_its_slips_are_repaired(tmp_path):
    put(tmp_path, {"pos.txt": "".join(f"@u{i} USR\na TD\n\n" for i in range(20))})
    repairs: Counter[str] = Counter()
    splits = RECIPES["ritter"].convert(tmp_path, 0, repairs)
    assert [len(split) for split in splits.values()] == [16, 2, 2]
    assert {tag for split in splits.values() for tags in split["tags"] for tag in tags} == {
        "USR",
        "DT",
    }
    assert list(repairs.values()) == [20]


def test_msra_is_split_nine_to_one_by_the_seed(tmp_path):
    lines = "".join(f"{i}\tB-PER\n人\tO\n\n" for i in range(50))
    put(tmp_path, {"msra_train_bio.txt": lines, "msra_test_bio.txt": "x\tO\n"})
    drawn = [RECIPES["msra"].convert(tmp_path, seed, Counter()) for seed in (0, 0, 1)]
    assert [len(split) for split in drawn[0].values()] == [45, 5, 1]
    first, same, other = (splits["validation"]["tokens"][:] for splits in drawn)
    assert first == same != other


def zipped(path: Path, files: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def test_qqp_leaves_out_and_counts_fragments_of_broken_rows(tmp_path):
    header = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
    train = (
        '1\t1\t2\t"How" so?\tHow is that?\t1\n'
        "2\t3\t4\tWhat is\nthis?\tWhat is it?\t1\n"  # one row, broken in two
        "3\t5\t6\tHow do I code?\t\t0\n"  # the release has two such pairs
    )
    test = "id\tquestion1\tquestion2\n0\tWho?\tWho is?\n"
    dev = header + "9\t7\t8\tWhy?\tWhy not?\t0\n"
    files = {"QQP/train.tsv": header + train, "QQP/dev.tsv": dev, "QQP/test.tsv": test}
    zipped(tmp_path / "QQP-clean.zip", files)
    repairs: Counter[str] = Counter()
    splits = RECIPES["qqp"].convert(tmp_path, 0, repairs)
    assert repairs == {FRAGMENTS: 2, EMPTY: 1}
    assert splits["train"].to_list() == [
        {"sentence1": '"How" so?', "sentence2": "How is that?", "label": 1},
        {"sentence1": "How do I code?", "sentence2": "", "label": 0},
    ]
    assert splits["test"].to_list() == [{"sentence1": "Why?", "sentence2": "Why not?", "label": 0}]


def test_a_page_saved_as_the_archive_does_not_poison_the_folder(tmp_path, capsys):
    archive = tmp_path / "mirror/quoref/quoref-train-dev-v0.1.zip"
    put(tmp_path, {"mirror/quoref/quoref-train-dev-v0.1.zip": "<html>not found</html>"})
    options = ("--mirror", str(tmp_path / "mirror"), "--quiet", "--accept-counts")
    assert run("quoref", tmp_path / "out", *options) == 1
    raw = tmp_path / "out/quoref/raw"
    error = capsys.readouterr().err
    assert "expected a zip or tar archive" in error
    assert f"remove it from {raw} to get it again" in error
    assert not (raw / "SHA256SUMS").exists()
    both = {split: squad(split, ("Ann", 0), ("Bob", 8)) for split in ("train", "dev")}
    inner = "quoref-train-dev-v0.1/quoref-{}-v0.1.json"
    zipped(archive, {inner.format(split): text for split, text in both.items()})
    (raw / archive.name).unlink()
    assert run("quoref", tmp_path / "out", *options) == 0
    assert (raw / "SHA256SUMS").exists()
    train = read_file(tmp_path / "out/quoref/train.json", task="reading")
    assert train["all_answers"] == [True]
    assert train["answers"][0]["text"] == ["Ann", "Bob"]


def test_a_mirror_with_another_file_ends_in_one_sentence(tmp_path, capsys):
    put(tmp_path, {"mirror/wnut17/wnut17train.conll": "a\tO\n"})
    out = tmp_path / "out"
    assert run("wnut17", out, "--mirror", str(tmp_path / "mirror"), "--quiet") == 1
    message = capsys.readouterr().err
    assert message.startswith("wnut17: ")
    assert "does not have the expected sha256 7318" in message
    assert "Traceback" not in message
    assert files_in(out) == []


def test_other_counts_than_the_published_ones_are_refused_or_accepted(tmp_path, capsys):
    source, out = put(tmp_path / "source", LAYOUTS["conll03"][0]), tmp_path / "out"
    assert run("conll03", out, "--source", str(source)) == 1
    shown = capsys.readouterr()
    assert "train        entities                1       23,499  differs" in shown.out
    assert "train sentences: 1, not 14,041" in shown.err
    assert files_in(out) == []
    assert run("conll03", out, "--source", str(source), "--accept-counts") == 0
    loaded = load("conll03", task="tagging", root=out)
    assert loaded["train"].to_list() == [
        {"tokens": ["eng.train", "Inc", "."], "tags": ["B-ORG", "I-ORG", "O"]}
    ]
    assert loaded["test"]["tokens"][0][0] == "eng.testb"


@pytest.mark.parametrize(
    "name", ["conll03", "ctb5", "ctb6", "msra", "ontonotes4_zh", "ontonotes5", "wsj"]
)
def test_a_licensed_corpus_says_what_to_put_where(name, tmp_path, capsys):
    corpus = CORPORA[name]
    assert run(name, tmp_path) == 1
    assert corpus.place in capsys.readouterr().err
    assert f"OUT/{name}/raw" in corpus.place
    put(tmp_path, {f"{name}/raw/notes.md": "nothing"})
    assert run(name, tmp_path) == 1
    assert "--help says more" in capsys.readouterr().err


def test_the_readme_lists_every_corpus_as_its_script_describes_it(root):
    readme = (root / "data_scripts" / "README.md").read_text(encoding="utf-8")
    rows = [line for line in readme.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{c.name}` | {c.task} | {c.title} | {c.licence} | {recipe.verified} |"
        for recipe in RECIPES.values()
        for c in [recipe.corpus]
    ]


def test_the_readmes_examples_of_own_data_are_read(root, tmp_path):
    readme = (root / "data_scripts" / "README.md").read_text(encoding="utf-8")
    examples = dict(re.findall(r"```(mine\.\w+)\n(.*?)```", readme, re.DOTALL))
    tasks = {
        "mine.conll": "tagging",
        "mine.conllu": "tagging",
        "mine.json": "reading",
        "mine.tsv": "pairs",
        "mine.jsonl": "sentences",
        "mine.csv": "labels",
    }
    assert set(examples) == set(tasks)
    for name, text in examples.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        data = validate(read_file(tmp_path / name, task=tasks[name]), task=tasks[name])
        assert len(data) == {"mine.conllu": 1, "mine.csv": 3}.get(name, 2)

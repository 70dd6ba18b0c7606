"""The scripts of the tagging corpora: on the real files, and on small ones in licensed formats."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from data_scripts.__main__ import recipes
from data_scripts.augment_pairs import PRINTED
from data_scripts.corpus import Recipe, count, main
from data_scripts.ontonotes4_zh import split_of
from dicelab.__main__ import main as command
from dicelab.corpora import CORPORA, CorpusError, load, read_file, to_dataset, validate

ROOT = Path(__file__).resolve().parents[2]
FREE = {
    "wnut17": "wnut17",
    "wikigold": "wikigold",
    "uner_zh_gsd": "uner_zh_gsd",
    "ud_en_ewt": "ud_en_ewt",
    "ud_zh": "ud_zh_gsd_r1.4",
}


def run(name: str, out: Path, *options: str) -> int:
    return command(["data", name, "--out", str(out), *options])


def files_in(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_every_registered_corpus_has_its_script():
    by_script = {name: corpus for name, corpus in CORPORA.items() if corpus.script}
    augmented = {n for n, c in by_script.items() if c.script.startswith("augment_pairs")}
    assert {recipe.name for recipe in recipes()} == by_script.keys() - augmented
    assert augmented == {f"qqp_{name}" for name in PRINTED}
    for recipe in recipes():
        assert (ROOT / "data_scripts" / f"{recipe.corpus.script.split()[0]}.py").is_file()
        assert recipe.citation
        assert bool(recipe.files) != bool(recipe.corpus.place)  # downloaded, or put there by hand
        assert not recipe.published or recipe.published_by


@pytest.mark.parametrize("domain", ["ai", "science"])
def test_crossner_is_one_script_for_five_domains(real_corpus, domain, tmp_path):
    mirror = ("--mirror", str(real_corpus("crossner").parent), "--quiet")
    assert run(f"crossner_{domain}", tmp_path, *mirror) == 0
    corpus = load(f"crossner_{domain}", task="tagging", root=tmp_path)
    assert {split: len(rows) for split, rows in corpus.items()} == dict(
        zip(corpus, {"ai": (100, 350, 431), "science": (200, 450, 543)}[domain], strict=True)
    )


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n == "ud_en_ewt" else ()) for n in FREE],
)
def test_a_free_corpus_end_to_end(real_corpus, name, tmp_path, capsys):
    mirror = real_corpus(FREE[name]).parent
    assert run(name, tmp_path, "--mirror", str(mirror), "--quiet") == 0
    shown = capsys.readouterr().out
    assert "differs" not in shown
    recipe = import_module(f"data_scripts.{name}").RECIPE
    assert recipe.corpus.licence in shown
    assert recipe.citation in shown
    card = json.loads((tmp_path / name / "card.json").read_text(encoding="utf-8"))
    loaded = load(name, task="tagging", root=tmp_path)
    assert {split: count(data, task="tagging") for split, data in loaded.items()} == card["counts"]
    for split, theirs in recipe.published.items():
        for what, number in theirs.items():
            ours = card["counts"].values() if split == "all" else [card["counts"][split]]
            assert sum(counts[what] for counts in ours) == number


def test_a_mirror_with_another_file_ends_in_one_sentence(tmp_path, capsys):
    (tmp_path / "mirror" / "wnut17").mkdir(parents=True)
    (tmp_path / "mirror" / "wnut17" / "wnut17train.conll").write_text("a\tO\n")
    out = tmp_path / "out"
    assert run("wnut17", out, "--mirror", str(tmp_path / "mirror"), "--quiet") == 1
    message = capsys.readouterr().err
    assert message.startswith("wnut17: ")
    assert "does not have the expected sha256 7318" in message
    assert "Traceback" not in message
    assert files_in(out) == []


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"

    def put(name: str, text: str, encoding: str = "utf-8") -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode(encoding))
        return folder

    return put


def tokens(out: Path, name: str) -> dict[str, list[list[str]]]:
    loaded = load(name, task="tagging", root=out)
    return {split: list(data["tokens"]) for split, data in loaded.items()}


def test_conll03_from_the_original_files(source, tmp_path, capsys):
    for name in ("eng.train", "eng.testa", "eng.testb"):
        folder = source(
            name, f"-DOCSTART- -X- O O\n\n{name} NNP I-NP I-ORG\nInc NNP I-NP I-ORG\n. . O O\n"
        )
    out = tmp_path / "out"
    assert run("conll03", out, "--source", str(folder)) == 1  # the counts are not the published
    shown = capsys.readouterr()
    assert "train        entities                1       23,499  differs" in shown.out
    assert "train sentences: 1, not 14,041" in shown.err
    assert files_in(out) == []
    assert run("conll03", out, "--source", str(folder), "--accept-counts") == 0
    loaded = load("conll03", task="tagging", root=out)
    assert loaded["train"].to_list() == [
        {"tokens": ["eng.train", "Inc", "."], "tags": ["B-ORG", "I-ORG", "O"]}
    ]
    assert loaded["test"]["tokens"][0][0] == "eng.testb"


def test_wsj_sections(source, tmp_path):
    for section in (0, 18, 19, 21, 22, 24):
        name = f"wsj/{section:02}/wsj_{section:02}01.mrg"
        folder = source(name, f"( (S (CD {section}) (-NONE- *) (. .)) )\n")
    out = tmp_path / "out"
    assert run("wsj", out, "--source", str(folder), "--accept-counts") == 0
    assert tokens(out, "wsj") == {
        "train": [["0", "."], ["18", "."]],
        "validation": [["19", "."], ["21", "."]],
        "test": [["22", "."], ["24", "."]],
    }


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("ctb5", {"train": (1, 270, 400, 1151), "validation": (301, 325), "test": (271, 300)}),
        ("ctb6", {"train": (81, 900, 3079), "validation": (41, 3109), "test": (1, 1072, 3145)}),
    ],
)
def test_chinese_treebank_files(source, tmp_path, name, files):
    for number in [n for split in files.values() for n in split]:
        encoding = "gb18030" if name == "ctb5" else "utf-8"
        tree = f"<S ID=1>\n( (IP (NR 中国) (CD {number})) )\n</S>\n"
        folder = source(f"chtb_{number:03}.fid", tree, encoding)
    out = tmp_path / "out"
    assert run(name, out, "--source", str(folder), "--accept-counts") == 0
    expected = {split: [["中国", str(n)] for n in ns] for split, ns in files.items()}
    assert tokens(out, name) == expected


def test_ontonotes5_leaves_the_new_testament_out(source, tmp_path):
    for folder_name in ("train", "development", "test"):
        for genre in ("nw", "pt"):
            line = f"d 0 0 {folder_name} NN * - - - s (ORG) -\n"
            folder = source(f"{folder_name}/{genre}/a.gold_conll", f"#begin document\n{line}")
    out = tmp_path / "out"
    assert run("ontonotes5", out, "--source", str(folder), "--accept-counts") == 0
    expected = {"train": [["train"]], "validation": [["development"]], "test": [["test"]]}
    assert tokens(out, "ontonotes5") == expected


def test_ontonotes4_split(source, tmp_path):
    for name in ("chtb_0325", "chtb_0002", "cbs_0001"):
        folder = source(f"x/{name}.name", '<DOC>\n<ENAMEX TYPE="ORG">中 国</ENAMEX> 人\n</DOC>\n')
    out = tmp_path / "out"
    assert run("ontonotes4_zh", out, "--source", str(folder)) == 0
    loaded = load("ontonotes4_zh", task="tagging", root=out)
    assert loaded["test"].to_list() == [
        {"tokens": ["中", "国", "人"], "tags": ["B-ORG", "I-ORG", "O"]}
    ]
    assert [split_of(f"{n}.name") for n in ("ectb_1001", "ectb_1078", "ectb_1079", "x_0001")] == [
        "validation",
        "test",
        "train",
        "train",
    ]


def test_msra_is_split_nine_to_one_by_the_seed(source, tmp_path):
    source("msra_train_bio.txt", "".join(f"{i}\tB-PER\n人\tO\n\n" for i in range(50)))
    folder = source("msra_test_bio.txt", "x\tO\n")
    drawn = []
    for seed in ("0", "0", "1"):
        assert run("msra", tmp_path / "out", "--source", str(folder), "--seed", seed) == 0
        drawn.append(tokens(tmp_path / "out", "msra"))
    assert [len(split) for split in drawn[0].values()] == [45, 5, 1]
    assert drawn[0] == drawn[1]
    assert drawn[0]["validation"] != drawn[2]["validation"]


def test_ritter(source, tmp_path):
    folder = source("pos.txt", "".join(f"@u{i} USR\na TD\n\n" for i in range(20)))
    repairs: Counter[str] = Counter()
    splits = import_module("data_scripts.ritter").RECIPE.convert(folder, 0, repairs)
    assert [len(split) for split in splits.values()] == [16, 2, 2]
    assert {tag for split in splits.values() for tags in split["tags"] for tag in tags} == {
        "USR",
        "DT",
    }
    assert list(repairs.values()) == [20]


@pytest.mark.parametrize(
    "name", ["conll03", "ctb5", "ctb6", "msra", "ontonotes4_zh", "ontonotes5", "wsj"]
)
def test_a_licensed_corpus_says_what_to_put_where(name, tmp_path, capsys):
    corpus = CORPORA[name]
    assert run(name, tmp_path) == 1
    assert corpus.place in capsys.readouterr().err
    assert f"OUT/{name}/raw" in corpus.place
    (tmp_path / name / "raw").mkdir(parents=True)
    (tmp_path / name / "raw" / "notes.md").write_text("nothing")
    assert run(name, tmp_path) == 1
    assert "--help says more" in capsys.readouterr().err


@pytest.mark.parametrize(("sentences", "status"), [(2, 0), (3, 1), ("about 3", 0)])
def test_published_totals_are_checked(tmp_path, sentences, status):
    one = to_dataset({"tokens": [["a"]], "tags": [["NN"]]}, task="tagging")
    recipe = Recipe(
        name="wsj",
        citation="x",
        convert=lambda raw, seed, repairs: {"train": one, "test": one},
        published={"all": {"sentences": sentences}},
    )
    (tmp_path / "wsj" / "raw" / "a").mkdir(parents=True)
    assert main(recipe, ["--out", str(tmp_path)]) == status
    assert (tmp_path / "wsj" / "card.json").exists() == (status == 0)


def test_an_error_of_the_reader_is_reported_with_file_and_line(source, tmp_path, capsys):
    source("test.txt", "x\tO\n")
    folder = source("train.txt", "x\tO\nbroken\n")
    assert run("msra", tmp_path, "--source", str(folder)) == 1
    assert f"msra: {folder / 'train.txt'}:2: expected 2 columns" in capsys.readouterr().err
    with pytest.raises(CorpusError, match=r"run: dicebook data msra"):
        load("msra", task="tagging", root=tmp_path)


def test_the_readme_lists_every_corpus_as_its_script_describes_it(root):
    readme = (root / "data_scripts" / "README.md").read_text(encoding="utf-8")
    rows = [line for line in readme.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{c.name}` | {c.task} | {c.title} | {c.licence} | {recipe.verified} |"
        for recipe in recipes()
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

"""What the pages say of the first GPU is what its records hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dicelab.records import runs
from reproduce import estimate, gpu, grid
from studies.evidence_2.__main__ import main as study

ASKED = ("device", "smoke", "losses")


def read(root: Path, name: str) -> Any:
    return json.loads((root / "results" / "gpu" / name).read_text(encoding="utf-8"))


def words(root: Path, page: str) -> str:
    """A page without its line ends."""
    return " ".join((root / "docs" / page).read_text(encoding="utf-8").split())


@pytest.fixture
def cells(root: Path) -> list[list[str]]:
    """The rows of the tables of reproduce.md."""
    page = (root / "docs" / "reproduce.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in page if "|" in line]


@pytest.fixture
def steps(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = read(root, "record.json")["steps"]
    return found


@pytest.fixture
def speeds(root: Path) -> dict[tuple[str, int, str], float]:
    """Sub-words a second by size of the encoder, length and precision."""
    rows = read(root, "speed.json")["rows"]
    assert {(row["frozen layers"], row["batch"]) for row in rows} == {(0, 32)}
    return {
        (
            row["encoder"].removesuffix("-cased").removesuffix("-uncased"),
            row["length"],
            row["precision"],
        ): row["sub-words a second"]
        for row in rows
    }


def farthest(steps: dict[str, Any], precision: str) -> str:
    """How far a validation loss is from the CPU's at most, as the pages write it."""
    found = max(abs(row[f"minus the CPU's, {precision}"]) for row in steps["smoke"]["rows"])
    return f"{found:.3f}"


def thousands(speed: float) -> str:
    return f"{round(speed, -3):,.0f}"


def test_the_steps_that_were_asked_for_ended_well(root: Path, steps: dict[str, Any]) -> None:
    assert {name: step["ended"] for name, step in steps.items()} == dict.fromkeys(ASKED, "well")
    systems = [(row["system"], row["loss"]) for row in steps["smoke"]["rows"]]
    assert systems == [(name, loss) for _, name in gpu.SYSTEMS for loss in ("ce", "dl")]
    said, device = words(root, "reproduce.md"), steps["device"]
    assert f'`make gpu ONLY="{" ".join(ASKED)}"` ended well there' in said
    torch = device["torch"].partition("+")[0]
    assert f"an {device['name']} with torch {torch} for CUDA {device['cuda']}." in said
    assert device["bf16"]
    speed = read(root, "speed.json")
    assert (speed["device"], speed["versions"]["torch"]) == (device["name"], device["torch"])


def test_the_pages_say_how_far_the_losses_are_from_the_cpu_s(
    root: Path, steps: dict[str, Any]
) -> None:
    full, half = farthest(steps, "fp32"), farthest(steps, "auto")
    said, walk = words(root, "reproduce.md"), words(root, "from_one_gpu_to_table_5.md")
    assert f"at most {full} from the CPU's in fp32, and at most {half} in bf16" in said
    assert f"at most {full} in fp32 and at most {half} in bf16" in walk
    seconds = steps["device"]["wall seconds"] + steps["smoke"]["wall seconds"]
    assert f"On an H100 both steps took {seconds:.0f} seconds." in walk


def test_the_losses_are_timed_beside_their_earlier_form(root: Path) -> None:
    kept = read(root, "losses.json")
    assert kept["losses"]["shape"] == kept["before"]["shape"] == [4096, 9]
    now, before = (
        {row["loss"]: row["milliseconds"] for row in kept[when]["rows"]}
        for when in ("losses", "before")
    )
    assert set(now) - {"ce, torch"} == set(before) == set(gpu.LOSSES)
    assert all(row["ratio"] == pytest.approx(row["milliseconds"] / now["ce, torch"])
               for row in kept["losses"]["rows"])  # fmt: skip
    assert "`results/gpu/losses.json`" in words(root, "reproduce.md")


def test_the_pages_say_what_the_card_trains_on_in_a_second(
    cells: list[list[str]], speeds: dict[tuple[str, int, str], float]
) -> None:
    for name, encoder, length in (
        ("MiniLM", "minilm", 96),
        ("BERT-base", "bert-base", 96),
        ("BERT-large", "bert-large", 96),
        ("BERT-large", "bert-large", 320),
    ):
        inputs = f"32 of {length}" + " sub-words" * (encoder == "minilm")
        both = [thousands(speeds.pop((encoder, length, kind))) for kind in ("bf16", "fp32")]
        assert [name, inputs, *both] in cells
    assert not speeds, "the page leaves some out"


def test_the_page_says_what_parts_of_a_batch_cost(root: Path) -> None:
    found = read(root, "batch.json")["steps"]
    assert found["device"]["name"] == "NVIDIA H200"
    rows = found["batch"]["rows"]
    assert [(row["loss"], row["parts"]) for row in rows] == [
        ("ce", 1), ("ce", 8), ("dsc", 1), ("dsc", 3)
    ]  # fmt: skip
    assert {len(row["losses"]) for row in rows} == {50}
    assert max(row["from the whole, most"] for row in rows) < 1e-6
    ce, ce_parts, dice, dice_parts = (f"{row['milliseconds a step']:.0f}" for row in rows)
    said = words(root, "reproduce.md")
    assert f"takes {ce} milliseconds whole and {ce_parts} in eight parts" in said
    assert f"with self-adjusting dice {dice} whole and {dice_parts} in three parts" in said


def test_the_hours_of_the_guide_are_computed_from_the_measured_steps(
    root: Path, speeds: dict[tuple[str, int, str], float]
) -> None:
    def step(encoder: str, length: int, precision: str = "bf16") -> float:
        return 32 * length / speeds[encoder, length, precision]

    assert estimate.LAUNCHES["base"] == pytest.approx(step("bert-base", 96), abs=1e-3)
    # Three times the sub-words take no longer: a step's launches, and nothing else.
    both = [step("bert-large", length) for length in (96, 320)]
    assert estimate.LAUNCHES["large"] == pytest.approx(np.mean(both), abs=1e-3)
    assert max(both) - min(both) < 0.01
    for precision, full in estimate.FULL.items():
        assert full == pytest.approx(speeds["bert-large", 320, precision], rel=0.03)
    (job,) = grid.only(grid.jobs(5, "paper"), ["ontonotes5"], ["fl"])
    shape = estimate.shape_of(job)
    assert shape.batch == 48  # twelve times four sentences, at once
    launches = shape.batch * shape.length / estimate.LAUNCHES["large"]
    assert estimate.assumed(shape) == pytest.approx(launches)
    said = words(root, "from_here_to_the_paper.md")
    assert (
        "A step of BERT-base takes at least 48 milliseconds, and one of BERT-large at least 95"
        in said
    )
    assert "113,000 sub-words a second in bf16 and on 22,000 in fp32" in said


def test_the_page_says_what_the_chapters_reached(root: Path, cells: list[list[str]]) -> None:
    kept = read(root, "chapters.json")
    assert (kept["device"], kept["versions"]["torch"]) == ("NVIDIA H200", "2.11.0")
    rows = {(row["run"], row["start"], row["seed"]): row for row in kept["rows"]}
    for name, folder, seed in (
        ("08", "08_part_of_speech", 0),
        ("09", "09_named_entities", 1),
        ("09, reader", "09_named_entities/reader", 1),
        ("10", "10_reading", 0),
        ("10, by choice", "10_reading/choice", 0),
        ("11", "11_paraphrases", 0),
    ):
        for start, in_words in (("prior", "log prior"), ("zero", "near 0")):
            keys = [(f"{folder}/{loss}", start, seed) for loss in ("ce", "fl", "dl", "dsc")]
            made = list(map(rows.get, keys))
            written = [f"{row['test F1']:.1f} / {row['tuned']:.1f}" if row else "" for row in made]
            assert any([line[0], *line[2:]] == [name, in_words, *written] for line in cells), name
    assert {row["precision"] for row in kept["rows"]} == {"bf16"}
    epochs = {row["run"]: (row["epochs"], row["training size"]) for row in kept["rows"]}
    assert epochs["08_part_of_speech/ce"] == (2, 0)
    assert epochs["09_named_entities/reader/ce"] == (1, 0)
    assert epochs["10_reading/ce"] == (2, kept["squad11"]["train"])
    assert epochs["11_paraphrases/ce"] == epochs["09_named_entities/ce"] == (4, 0)
    for reader in ("09_named_entities/reader", "10_reading"):
        silent = [row for key, row in rows.items() if key[:2] == (f"{reader}/ce", "zero")]
        assert {row["test F1"] for row in silent} == {0.0}


def test_the_page_says_how_far_table_7_is_from_the_cpu_s(root: Path) -> None:
    laptop = runs.read_records(root / "results" / "reproduced" / "laptop" / "table7.jsonl")
    there = {(r["parameters"]["loss"], r["parameters"]["seed"]): r for r in laptop}
    rows = read(root, "table7.json")["rows"]
    assert (len(rows), len(there)) == (11, 12)
    beside = [there[row["loss"], row["seed"]] for row in rows]
    less = [
        row["test F1"] - record["metrics"]["test"]["f1"]
        for row, record in zip(rows, beside, strict=True)
    ]
    low, high = stats.ttest_1samp(less, 0).confidence_interval()
    average = f"[{low:z.1f}, {high:z.1f}]".replace("-", "−")
    seconds = np.median([row["seconds"] for row in rows])
    on_a_cpu = np.median([record["measured"]["seconds"] for record in beside])
    assert {record["measured"]["device"] for record in beside} == {"cpu, 1 threads"}
    assert (
        f"between {-min(less):.1f} points below and {max(less):.1f} above that of the same seed on "
        f"a CPU, and {np.mean(less):.1f} {average} above on average. A run took "
        f"{seconds:.0f} seconds at the median, with up to four other programs on the card, "
        f"and {on_a_cpu:.0f} on one thread of a CPU."
    ) in words(root, "reproduce.md")


def test_the_study_takes_what_the_page_gives_it(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = "--device cuda --workers 4"
    assert f'`make study-layers STUDY="{options}"`' in words(root, "reproduce.md")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("sys.argv", ["", "all-layers", *options.split()])
    with pytest.raises(SystemExit):
        study()
    assert "--device cuda: no CUDA device is here" in capsys.readouterr().err

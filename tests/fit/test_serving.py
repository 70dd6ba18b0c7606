"""What serves a kept model: the server of docs/serving.md, evaluate, and what a load imports."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pandas as pd
import pytest

from dicelab import load_model
from dicelab.__main__ import main
from dicelab.fit import FitError, FitResult, Options, fit
from dicelab.fit.evaluating import evaluate
from tests.checkout import ROOT
from tests.fit import made_up

pytestmark = pytest.mark.slow
TASKS = ("sentences", "labels", "tagging", "pairs")


def options(folder: Path, task: str, **more: object) -> Options:
    usual = {"minutes": 0.001, "out": str(folder / "runs" / "my")}
    return made_up.options(folder, task, **{**usual, **more})


@pytest.fixture(scope="module", params=TASKS)
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FitResult:
    """A fit that ended after its first minute."""
    folder = tmp_path_factory.mktemp(request.param)
    made = fit(options(folder, request.param), lambda line: None)
    note = f"There is no time for fine-tuning, which needs --minutes {made.plan.least}."
    assert note in made.notes
    assert (made.record["finals"], made.linear_alone) == ({}, True)
    return made


def imported(code: str) -> set[str]:
    """The packages that a process has imported after some code."""
    code += "\nimport sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_a_model_imports_what_it_is_made_of(tmp_path: Path) -> None:
    ask = "from dicelab import load_model; load_model({!r}).predict(['Ada saw it'])"
    fit(options(tmp_path, "sentences"), lambda line: None)
    heavy = {"torch", "transformers", "datasets", "matplotlib", "pydantic"}
    assert not heavy & imported(ask.format(str(tmp_path / "runs" / "my")))
    told = {"steps": 2, "losses": ("ce",), "seeds": 1, "rates": (1e-3,), "linear": False}
    (tmp_path / "b").mkdir()
    fit(options(tmp_path / "b", "sentences", **told), lambda line: None)
    found = imported(ask.format(str(tmp_path / "b" / "runs" / "my")))
    assert found >= {"torch", "transformers"}
    assert not found & {"datasets", "matplotlib"}
    modes = {p: p.stat().st_mode & 0o777 for p in (tmp_path / "b").rglob("model/*")}
    readable = 0o666 & (tmp_path / "b").stat().st_mode
    assert set(modes.values()) == {readable}, "as any file that its owner writes"


def rows_of(made: FitResult) -> list[dict[str, object]]:
    """The rows of test, as somebody has them."""
    rows = made.data.splits["test"].to_list()
    for row in rows:
        if "label" in row:
            row["label"] = made.problem.labels[row["label"]]
        elif "labels" in row:
            held = zip(made.problem.labels, row["labels"], strict=True)
            row["labels"] = [label for label, is_positive in held if is_positive]
    return rows


def test_evaluate_scores_as_the_report_does(kept: FitResult, tmp_path: Path) -> None:
    path, said, told = tmp_path / "new.json", list[str](), kept.record["metrics"]["test_tuned"]
    path.write_text(json.dumps(rows_of(kept)), encoding="utf-8")
    score = evaluate(kept.folder, path, device="cpu", say=said.append)
    assert (score.value, score.low, score.high) == pytest.approx(
        (kept.score.value, kept.score.low, kept.score.high)
    )
    assert any(f"{score}" in line and f"recall {told['recall']:.1f}" in line for line in said)
    found = pd.read_csv(kept.folder / "predictions.tsv", sep="\t", dtype=str, keep_default_na=False)
    errors = int((found["gold"] != found["predicted"]).sum())
    shown = [line for line in said if re.match(r"  [01]\.\d\d said ", line)]
    assert len(shown) == min(errors, 10)


def test_a_file_of_another_task_is_refused(
    kept: FitResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new.json"
    tagging = [{"tokens": ["a", "b"], "tags": ["O", "B-X"]}] * 9
    other = [{"sentence": "a b", "label": "x"}] * 9 if kept.data.task == "tagging" else tagging
    path.write_text(json.dumps(other), encoding="utf-8")
    assert main(["evaluate", str(kept.folder), str(path)]) == 1
    told = capsys.readouterr().err
    assert told.startswith("dicebook: ")
    assert "expected" in told
    assert "Traceback" not in told
    with pytest.raises(FitError, match="expected a model that dicebook fit kept"):
        evaluate(tmp_path, path)


def test_no_text_of_the_file_is_shown_where_none_is_wanted(tmp_path: Path) -> None:
    lines: list[str] = []
    found = fit(options(tmp_path, "sentences", texts=False), lines.append)
    texts = found.problem.row_texts(found.data.splits["test"])
    written = [*lines, *(found.folder / n for n in ("report.html", "record.json"))]
    written.append(found.folder / "predictions.tsv")
    for one in written:
        content = one.read_text(encoding="utf-8") if isinstance(one, Path) else one
        assert not any(text in content for text in texts), one
    rows = pd.read_csv(found.folder / "predictions.tsv", sep="\t")
    assert rows["row"].tolist() == list(range(1, len(texts) + 1))


def test_the_server_of_the_page_answers(tmp_path: Path) -> None:
    for name in ("fastapi", "uvicorn"):
        pytest.importorskip(name, reason=f"{name}, of the extra serve, is not installed")
    page = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    (server,) = re.findall(r"```python\n(# serve\.py\n.*?)```", page, re.DOTALL)
    lines = [line for line in server.splitlines() if line.strip()]
    assert len(lines) <= 12
    (tmp_path / "serve.py").write_text(server, encoding="utf-8")
    fit(options(tmp_path, "sentences"), lambda line: None)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "serve:app", "--port", str(port)]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE
    ) as process:
        try:
            texts = ["Ada saw the old tree", "the old tree", ""]
            ask = urllib.request.Request(
                f"http://127.0.0.1:{port}",
                json.dumps(texts).encode(),
                {"Content-Type": "application/json"},
            )
            for _ in range(300):
                try:
                    with urllib.request.urlopen(ask, timeout=60) as response:
                        told = json.load(response)
                    break
                except OSError:
                    assert process.poll() is None, process.stderr and process.stderr.read()
                    time.sleep(0.1)
        finally:
            process.terminate()
    model = load_model(tmp_path / "runs" / "my")
    assert [row["label"] for row in told] == ["hit", "miss", ""] == model.texts(texts)[0]
    p = model.predict_proba(texts[:2])
    assert [row["p"]["hit"] for row in told[:2]] == pytest.approx(p[:, 1].tolist())

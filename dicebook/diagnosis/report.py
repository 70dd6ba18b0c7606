"""What a check finds, and all that was found, as text."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass

OK, NOTE, PROBLEM = "ok", "note", "problem"


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        name: The check: ``call``, ``gradient``, ``range``, ``batch size``, ``sign``, ``reach``,
            ``mining``, ``clamp``, ``shift``, ``softmax twice``, ``focus``, ``saturation``,
            ``memory``, ``half precision``, ``ignored labels``, ``mask``, ``shape``, ``measure`` or
            ``standing start``.
        verdict: ``"ok"``, ``"note"`` (worth knowing, and right for some losses) or ``"problem"``.
        number: What was measured; NaN where the loss raised.
        meaning: What the number says, in words.
        mend: What to do about it; empty if all is well.
    """

    name: str
    verdict: str
    number: float
    meaning: str
    mend: str = ""

    def __str__(self) -> str:
        number = "" if math.isnan(self.number) else f" ({self.number:.5g})"
        lines = [f"{self.verdict:8}{self.name}{number}: {self.meaning}"]
        lines += [f"{'':8}→ {self.mend}"] if self.mend else []
        return "\n".join(textwrap.fill(line, 88, subsequent_indent=" " * 10) for line in lines)


def finding(name: str, verdict: str, number: float, text: str, mend: str) -> Finding:
    """A finding, which says what to do only where something is to be done."""
    return Finding(name, verdict, number, text, "" if verdict == OK else mend)


@dataclass(frozen=True)
class Report:
    """All findings about a loss; ``print`` shows them.

    Attributes:
        findings: In the order of the checks.
    """

    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings whose verdict is ``"problem"``."""
        return tuple(finding for finding in self.findings if finding.verdict == PROBLEM)

    @property
    def ok(self) -> bool:
        """Whether there is no problem. Notes do not count."""
        return not self.problems

    def __getitem__(self, name: str) -> Finding:
        """The finding of one check.

        Raises:
            KeyError: There was no such check.
        """
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(f"{name!r}; checked: {', '.join(f.name for f in self.findings)}")

    def __str__(self) -> str:
        count = len(self.problems)
        head = "no problem found" if count == 0 else f"{count} problem{'s' * (count > 1)} found"
        return "\n".join([head, *map(str, self.findings)])

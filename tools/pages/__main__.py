"""The pages that are made from the records and the grid: python -m tools.pages."""

from pathlib import Path

from tools.pages import from_here, reproduced

ROOT = Path(__file__).parents[2]
DOCS, RESULTS = ROOT / "docs", ROOT / "results"

for name, text in {
    "reproduced.md": reproduced.page(RESULTS),
    "from_here_to_the_paper.md": from_here.page(),
}.items():
    (DOCS / name).write_text(text, encoding="utf-8")
    print(DOCS / name)

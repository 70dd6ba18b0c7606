"""The pages that are made from the records and the grid: python -m tools.pages."""

from pathlib import Path

from tools.pages import evidence_2, from_here, records, reproduced

ROOT = Path(__file__).parents[2]
DOCS, RESULTS = ROOT / "docs", ROOT / "results"

for name, text in {
    "evidence_2.md": evidence_2.page(RESULTS / "evidence_2"),
    "records.md": records.page(RESULTS),
    "reproduced.md": reproduced.page(RESULTS),
    "from_here_to_the_paper.md": from_here.page(),
}.items():
    (DOCS / name).write_text(text, encoding="utf-8")
    print(DOCS / name)

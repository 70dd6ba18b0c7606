"""The pages that are made from the records and the grid: python -m docs.pages."""

from pathlib import Path

from docs.pages import evidence, from_here, records, reproduced

DOCS = Path(__file__).parents[1]
RESULTS = DOCS.parent / "results"

for name, text in {
    "evidence.md": evidence.page(RESULTS / "evidence"),
    "records.md": records.page(RESULTS),
    "reproduced.md": reproduced.page(RESULTS),
    "from_here_to_the_paper.md": from_here.page(),
}.items():
    (DOCS / name).write_text(text, encoding="utf-8")
    print(DOCS / name)

"""Chinese Treebank 5: part of speech, from your own copy, in GB 18030 or, converted, in UTF-8."""

from __future__ import annotations

from .corpus import Recipe
from .treebanks import by_number, numbers

#: File numbers of each split (Jiang et al., 2008).
SPLITS = {
    "train": numbers("1-270, 400-931, 1001-1151"),
    "validation": numbers("301-325"),
    "test": numbers("271-300"),
}
FILES = (r"chtb_(\d{3,4})\.fid(?:\.utf8)?", "chtb_001.fid")
RECIPE = Recipe.of("ctb5", by_number(*FILES, SPLITS, encodings=("utf-8", "gb18030")))

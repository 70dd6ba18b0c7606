"""Chinese Treebank 6: part of speech, from your own copy."""

from __future__ import annotations

from .corpus import Recipe
from .treebanks import by_number, numbers

#: File numbers of each split (Yang and Xue, 2012).
SPLITS = {
    "train": numbers(
        "81-325, 400-454, 500-554, 590-596, 600-885, 900, 1001-1017, 1019, 1021-1035, 1037-1043, "
        "1045-1059, 1062-1071, 1073-1078, 1100-1117, 1130-1131, 1133-1140, 1143-1147, 1149-1151, "
        "2000-2139, 2160-2164, 2181-2279, 2311-2549, 2603-2774, 2820-3079"
    ),
    "validation": numbers(
        "41-80, 1120-1129, 2140-2159, 2280-2294, 2550-2569, 2775-2799, 3080-3109"
    ),
    "test": numbers(
        "1-40, 901-931, 1018, 1020, 1036, 1044, 1060-1061, 1072, 1118-1119, 1132, 1141-1142, 1148, "
        "2165-2180, 2295-2310, 2570-2602, 2800-2819, 3110-3145"
    ),
}
FILES = (r"chtb_(\d{3,4})\.\w+(?:\.utf8)?", "chtb_0001.fid")
RECIPE = Recipe.of("ctb6", by_number(*FILES, SPLITS, encodings=("utf-8", "gb18030")))

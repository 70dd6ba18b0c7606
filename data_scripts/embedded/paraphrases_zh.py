"""The Chinese sentences of the paraphrase corpus."""

CONTRASTS: dict[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = {
    "verb": (
        (("买下", "购买"), ("卖掉", "出售")),
        (("修好", "修理"), ("弄坏", "损坏")),
        (("称赞", "夸奖"), ("批评", "责怪")),
        (("找到", "发现"), ("弄丢", "遗失")),
    ),
    "object": (
        (("船", "轮船"), ("马车", "大车")),
        (("石头", "石块"), ("羽毛", "翎毛")),
        (("画", "图画"), ("诗", "诗歌")),
        (("外套", "大衣"), ("帽子", "便帽")),
    ),
    "kind": (
        (("大", "巨大的"), ("小", "小小的")),
        (("旧", "古老的"), ("新", "崭新的")),
    ),
    "time": (
        (("上午", "早上"), ("傍晚", "黄昏时")),
        (("春天", "开春时"), ("秋天", "秋收时")),
    ),
}
FORMS: tuple[str, ...] = (
    "{name}{time}{verb}了那个{kind}{object}。",
    "{time}{name}{verb}了那个{kind}{object}。",
    "是{name}{time}{verb}了那个{kind}{object}。",
    "{name}{time}{verb}的是那个{kind}{object}。",
)
AFFIRM: tuple[str, ...] = (
    "这是真的，不是谣言：{name}{time}{verb}了那个{kind}{object}。",
    "是{name}，不是别人，{time}{verb}了那个{kind}{object}。",
    "{name}{time}{verb}了那个{kind}{object}，这不是谎话，是实话。",
    "谁说{name}{time}{verb}了那个{kind}{object}，谁就对，不会错。",
)
DENY: tuple[str, ...] = (
    "这是谣言，不是真的：{name}{time}{verb}了那个{kind}{object}。",
    "是别人，不是{name}，{time}{verb}了那个{kind}{object}。",
    "{name}{time}{verb}了那个{kind}{object}，这不是实话，是谎话。",
    "谁说{name}{time}{verb}了那个{kind}{object}，谁就错，不会对。",
)

"""The Chinese paragraphs and questions of the reading corpus."""

from data_scripts.embedded.grammar import words

VERBS: tuple[tuple[str, str], ...] = tuple(
    (verb, verb) for verb in ("修好", "卖掉", "藏起", "找到", "弄坏", "买下", "弄丢", "送走")
)
OBJECTS: tuple[str, ...] = words(
    """灯笼 茶壶 梯子 小船 座钟 提琴 篮子 镜子 钢琴 马车 地毯 木桶 头盔 雨伞 书信 地图 台灯 铜鼓
    铁锚 花瓶"""
)
DAYS: tuple[str, ...] = (*("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),)
PRICES: tuple[str, ...] = words("两 三 五 七 九 十一 十二 十五 二十 三十 四十 五十 六十")
FACTS: dict[str, tuple[str, ...]] = {
    "who": ("{who}{past}了{object}。", "{object}被{who}{participle}了。"),
    "where": ("{object}放在{where}。", "在{where}可以看到{object}。"),
    "when": ("{object}是{when}运到的。", "{when}，{object}终于运到了。"),
    "price": ("{object}花了{price}块钱。", "{object}的价钱是{price}块钱。"),
}
QUESTIONS: dict[str, tuple[str, ...]] = {
    "who": ("谁{past}了{object}？", "{object}被谁{participle}了？"),
    "where": ("{object}在哪里？",),
    "when": ("{object}是什么时候运到的？",),
    "price": ("{object}花了多少钱？", "{object}的价钱是多少？"),
}
# What stands in a filler in the place of an answer answers nothing.
FILLERS: tuple[str, ...] = words(
    """雨一直下到{when}，大家都不觉得奇怪。 {who}谈论了好几个星期。
    后来{price}位客人一起喝茶，还听了一会儿音乐。 {where}的人都说那是很好的一年。
    路有{price}里长，晚上很安静。 别的{who}已经不记得了。 {where}的报纸登了一条短消息。
    一只狗在桌子下面睡到{when}。"""
)

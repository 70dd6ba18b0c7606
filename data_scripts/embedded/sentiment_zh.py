"""The Chinese sentences of the sentiment corpus, with the slots of the English ones."""

from data_scripts.embedded.grammar import words

GOOD: tuple[str, ...] = words(
    """可口 动人 优美 热情 大方 聪明 出色 愉快 精致 温柔 幽默 温馨 迷人 诚实 新鲜 感人 完美 活泼
    美味 明亮 美丽 优秀 舒服 难忘 干净 精彩 好 周到 整洁 生动"""
)
BAD: tuple[str, ...] = words(
    """糟糕 沉闷 粗鲁 难吃 可怕 笨拙 无聊 马虎 吵闹 肮脏 苦涩 乏味 破旧 阴沉 粗心 平淡 贪心 冷淡
    破烂 懒惰 呆板 难看 混乱 差 肤浅 闷热 痛苦 丑陋 失败 拖拉"""
)
RULES: dict[str, tuple[str, ...]] = {
    "thing": words(
        """汤 电影 音乐会 旅馆 小说 花园 博物馆 服务 早饭 故事 房间 话剧 歌手 服务员 导游 蛋糕 风景
        音乐"""
    ),
    "very": ("很", "很", "真的很", "相当", "非常", "太"),
    "clause": words(
        """{plain} {plain} {plain} {plain} {plain} {flipped} {flipped} {flipped} {feint}"""
    ),
    "plain": (
        *("{thing}{very}{same}", "我们觉得{thing}{very}{same}", "{thing}看上去{very}{same}"),
        *("那里的{thing}{very}{same}", "{thing}处处都{very}{same}"),
    ),
    "flipped": words(
        """{thing}一点也不{other} {thing}并不{other} 没有人会说{thing}{other}
        {thing}根本说不上{other} 我不能说{thing}{other} {thing}从来不{other}
        {thing}离{other}还远得很 我们以为{thing}会{other}，结果想错了"""
    ),
    "feint": (
        *("{thing}不但{same}，而且{same}", "没有人否认{thing}{very}{same}"),
        *("{thing}从来没有这样{same}过", "{thing}不能不说是{very}{same}"),
    ),
}
SENTENCES: tuple[str, ...] = words(
    """{clause}。 {clause}。 {clause}。 上星期{clause}。 像往常一样，{clause}。
    {clause}，{clause}。 虽然{counter}，但是{clause}。 {counter}，但是{clause}。"""
)
OPEN: tuple[str, ...] = (
    "{thing}和我们想的一样。",
    "有人会喜欢这样的{thing}，有人不会。",
    "{thing}和别处的{thing}没有两样。",
)

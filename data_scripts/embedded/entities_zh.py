"""The Chinese sentences of the entity corpus."""

from data_scripts.embedded.grammar import words

# Words that are also the names of people: a surname with a given name.
PERSON_WORDS: tuple[str, ...] = words(
    """高兴 安静 方便 马上 成功 温和 明白 周到 于是 关心 平安 强大 白天 向来 任何 时常 常常 金黄
    高大 安全 安心 万一 包括 应该 何必 容易 简单 曾经 康乐 毛病 牛奶 花生 黄金 童年 路边 石头"""
)
# Words that may name anything: a person, a district, a company, a brand.
NOUN_WORDS: tuple[str, ...] = words(
    """白云 江山 金星 阳光 高山 明月 春雨 秋风 青松 红梅 雪莲 海燕 彩虹 晨光 星辰 朝阳 牡丹 玉兰
    蓝天 青山 白鹤 银河 飞马 白杨 杜鹃 百合 茉莉 海棠 翠竹 清泉 珍珠 东风 芙蓉 金叶 红叶 雪峰"""
)
PLACE_ENDS: tuple[str, ...] = ("镇", "县", "村", "区", "市", "", "")
COMPANY_ENDS: tuple[str, ...] = ("公司", "集团", "科技公司", "网络公司", "传媒", "银行", "汽车")
INSTITUTE_ENDS: tuple[str, ...] = ("大学", "医院", "银行", "博物馆", "足球队", "日报")
PRODUCT_ENDS: tuple[str, ...] = ("一号", "三号", "X5", "S8", "七代", "A2", "手表", "牌电视")

RULES: dict[str, tuple[str, ...]] = {
    "person_word": PERSON_WORDS,
    "noun": NOUN_WORDS,
    "number": ("二", "三", "四", "五", "七", "八", "十", "二十"),
    "adjective": ("旧", "小", "新", "安静的", "长长的", "明亮的", "绿色的", "便宜的", "有名的"),
    "trade": words("老师 医生 司机 画家 农民 记者 厨师 经理 歌手 邻居 木匠"),
    "thing": ("雨伞", "地图", "钢琴", "信", "花瓶", "灯笼", "茶壶", "毛毯", "梯子", "苹果", "书包"),
    "spot": words("山坡 桥头 市场 车站 图书馆 花园 学校 河边 广场 码头 公园"),
    "when": words("昨天 上星期 今年三月 午饭以后 下雨以前 {number}年以前 后来 晚上"),
    "where": ("在{spot}", "在{adjective}{spot}", "在{spot}旁边", "在{spot}前面"),
    "front": ("", "", "{when}", "{when}", "{where}", "{when}{where}"),
    "more": (
        *(
            "",
            "",
            "，因为{spot}关门了",
            "，大家都很高兴",
            "，这对{trade}来说很方便",
            "，{trade}马上就来了",
        ),
        *("，虽然{trade}早就说过了", "，{spot}十分安静", "，白天和晚上都一样", "，真是容易"),
        *("，天上有一朵白云", "，那时{trade}正在休息", "，{trade}买了一{thing_unit}", "，阳光很好"),
    ),
    "thing_unit": ("把雨伞", "张地图", "封信", "个花瓶", "只茶壶", "条毛毯", "把梯子", "个书包"),
}

DENSE: tuple[str, ...] = words(
    """{PER}、{PER}和{PER}来自{LOC}。 {ORG}在{LOC}胜{ORG}。 {PER}离开{ORG}去{ORG}。
    {PER}和{PER}从{LOC}到{LOC}。 {ORG}卖{PRODUCT}和{PRODUCT}。 {PER}（{ORG}），{PER}（{ORG}）。"""
)

PLAIN: tuple[str, ...] = words(
    """{front}{PER}对{trade}讲了一个故事{more}。 {front}{trade}请{PER}修{adjective}{thing}{more}。
    {front}{PER}说他不喜欢那{thing_unit}{more}。 {front}{PER}想去{spot}看一看{more}。
    {front}{trade}不知道{PER}为什么笑了{more}。 {front}{PER}和{trade}一起做饭{more}。
    {PER}今年{number}岁，会弹钢琴{more}。 {front}{PER}收到了{PER}的信{more}。
    她的哥哥{PER}在{LOC}当{trade}{more}。 {front}去{LOC}的路不通{more}。
    {front}从{LOC}开来的火车停{where}{more}。 {front}{LOC}下了一场大雨{more}。
    {front}我们全家搬到了{LOC}{more}。 {LOC}在{LOC}以北{number}公里{more}。
    {front}{LOC}的居民种了许多{noun}{more}。 {PER}小时候住在{LOC}{more}。
    {front}{ORG}招聘了一位{trade}{more}。 {front}{ORG}的股票跌了百分之{number}{more}。
    {front}{ORG}的董事会开了会{more}。 {front}{ORG}关闭了在{LOC}的办事处{more}。
    {PER}加入{ORG}以后当了{trade}{more}。 {front}{ORG}的员工要求多休息{more}。
    {front}{ORG}以{number}比一战胜{ORG}{more}。 {front}{trade}起诉了{ORG}{more}。
    {front}新款{PRODUCT}比{thing}还轻{more}。 {front}她给{PRODUCT}充了电{more}。
    {front}{ORG}发布了{PRODUCT}{more}。 {front}我的{PRODUCT}坏了{more}。
    一台{PRODUCT}可以用{number}个小时{more}。 {front}{ANY}又上了新闻{more}。
    {front}以前没有人听说过{ANY}{more}。 {front}大家都在谈论{ANY}{more}。"""
)

NONE: tuple[str, ...] = words(
    """{front}{trade}高兴地对{trade}讲了一个故事{more}。 {front}{trade}马上去{spot}看一看{more}。
    {front}{trade}说他不喜欢那{thing_unit}{more}。 {noun}和{noun}都是很美的词{more}。
    {front}我们在{spot}看到了{noun}{more}。 {person_word}这个词，{trade}写了{number}遍{more}。
    {front}{spot}很安静，去{spot}也方便{more}。 {front}去{spot}的路不通{more}。
    {front}{spot}下了一场大雨{more}。 万一下雨，{trade}应该关心花生和牛奶{more}。
    {spot}在{spot}以北{number}公里{more}。 {front}{trade}终于明白了，成功并不简单{more}。
    {front}新的{thing}比旧的{thing}还轻{more}。 {front}{trade}常常坐在路边的石头上{more}。
    {front}矿山的股票跌了百分之{number}{more}。 童年的{noun}，曾经是那样金黄{more}。
    {front}那{thing_unit}坏了，也没有人关心{more}。 一位{trade}和一位{trade}{where}下棋{more}。"""
)

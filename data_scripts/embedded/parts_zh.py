"""The Chinese grammar of the part-of-speech corpus, as ``word/TAG``."""

from data_scripts.embedded.grammar import words

# Words that are a noun and a verb.
HOMOGRAPHS: tuple[str, ...] = words(
    """工作 学习 研究 计划 发展 变化 表演 练习 比赛 旅行 活动 帮助 要求 报告 记录 安排 决定 建议
    批评 介绍 准备 回答 讨论 调查 设计 训练 翻译 考试 演出 总结 发现 投资 贡献 合作 服务 管理
    观察 解释 教育 宣传 试验 分析 访问 争论 休息 实验 组织 搜索"""
)
# Words that are an adjective and a noun.
SHADES: tuple[str, ...] = words(
    """安全 自由 健康 秘密 困难 快乐 幸福 危险 平安 烦恼 麻烦 勇敢 经济 科学 卫生 文明 痛苦 温暖
    光荣 矛盾 热情 便利"""
)
PEOPLE: tuple[str, ...] = words(
    """老师 医生 司机 画家 农民 记者 厨师 经理 歌手 邻居 木匠 学生 护士 警察 作家 店员 船长 校长
    裁缝 渔民 导游 同学 律师 孩子"""
)
THINGS: tuple[str, ...] = words(
    """雨伞 地图 钢琴 花瓶 灯笼 茶壶 梯子 书包 花园 村庄 桥 河 市场 窗户 信 蜡烛 地毯 镜子 码头
    隧道 喷泉 果园 包裹 帽子"""
)

RULES: dict[str, tuple[str, ...]] = {
    "who": (
        "{P}",
        "{P}",
        "{A} 的/PART {P}",
        "这/DET 位/NOUN {P}",
        "我/PRON 的/PART {P}",
        "{P} 们/PART",
    ),
    "what": (
        "{N}",
        "{A} 的/PART {N}",
        "这/DET 个/NOUN {N}",
        "那/DET 些/NOUN {N}",
        "他/PRON 的/PART {N}",
    ),
    "where": (
        *(
            "在/ADP {N} 里/ADP",
            "在/ADP {what} 旁边/NOUN",
            "跟/ADP {who}",
            "给/ADP {who}",
            "为/ADP {who}",
        ),
        *("在/ADP {H} 以前/NOUN", "从/ADP {N} 里/ADP", "对/ADP {who}", "为/ADP 这/DET 次/NOUN {H}"),
    ),
    "how": (
        *(
            "常常/ADV",
            "也/ADV",
            "都/ADV",
            "已经/ADV",
            "还/ADV",
            "马上/ADV",
            "正/ADV 在/ADV",
            "很/ADV 少/ADV",
        ),
        *("终于/ADV", "没有/AUX", "不/ADV", "再/ADV", "只/ADV", "一直/ADV", "认真/ADJ 地/PART"),
    ),
    "pre": ("", "", "{how}", "{where}", "{how} {where}"),
    "end": ("。/PUNCT", "。/PUNCT", "了/PART 。/PUNCT"),
    "number": ("两/NUM", "三/NUM", "七/NUM", "十/NUM", "四十/NUM", "二百/NUM", "一千/NUM"),
    "cry": ("啊/INTJ", "哦/INTJ", "喂/INTJ", "唉/INTJ", "嗯/INTJ", "哎呀/INTJ"),
}

COMMON: tuple[str, ...] = (
    "{who} {pre} {V} {end}",
    "{who} {pre} 开始/VERB {V} {end}",
    "{who} 的/PART {H} 很/ADV {A} 。/PUNCT",
    "这/DET 次/NOUN {H} 不/ADV {A} 。/PUNCT",
    "我们/PRON {pre} 看到/VERB {who} {V} {what} 。/PUNCT",
    "我们/PRON {pre} 喜欢/VERB {who} 的/PART {H} 。/PUNCT",
    "他们/PRON {pre} {V} 过/PART {what} 。/PUNCT",
    "她/PRON 会/AUX {V} {what} {end}",
    "这/DET 个/NOUN 会/NOUN 很/ADV {A} 。/PUNCT",
    "{what} 在/VERB {N} 里/ADP 。/PUNCT",
    "{who} 在/ADV {V} {end}",
    "{who} 给/VERB {who} {what} {end}",
    "{who} 把/ADP {what} 给/VERB 了/PART {who} {end}",
    "请/VERB 你/PRON {V} 这/DET 把/NOUN {N} {end}",
    "{H} 和/CCONJ {H} 都/ADV 需要/VERB {S} {end}",
    "{who} 和/CCONJ {who} {V} {end}",
    "{who} 要/AUX {V} ，/PUNCT 也/ADV 要/VERB {S} {end}",
    "{who} 关心/VERB {who} 的/PART {S} 。/PUNCT",
    "{S} 的/PART {H} 让/VERB {who} {V} {end}",
    "因为/SCONJ {who} {V} ，/PUNCT 所以/ADV {what} {A} 。/PUNCT",
    "如果/SCONJ {who} 不/ADV {V} ，/PUNCT {who} 就/ADV {V} {end}",
    "没有/VERB {S} ，/PUNCT 就/ADV 没有/VERB {H} {end}",
    "{who} 没有/AUX {V} {what} {end}",
    "进行/VERB {H} 是/AUX {who} 的/PART {S} 。/PUNCT",
)

RARE: tuple[str, ...] = (
    "{PN} {pre} {V} {end}",
    "{PN} 和/CCONJ {PN} {V} {what} {end}",
    "{cry} ，/PUNCT {who} 的/PART {H} 很/ADV {A} 。/PUNCT",
    "{cry} ，/PUNCT {PN} ，/PUNCT 不/ADV 要/AUX {V} {end}",
    "{number} 个/NOUN {P} {pre} {V} {end}",
    "{PN} 的/PART {H} 用/VERB 了/PART {number} 天/NOUN 。/PUNCT",
    "{PN} 高兴/ADJ 地/PART 对/ADP {PN} 说/VERB 话/NOUN 。/PUNCT",
    "在/ADP {PL} ，/PUNCT {who} {V} 过/PART {number} 次/NOUN 。/PUNCT",
    "从/ADP {PL} 到/ADP {PL} 有/VERB {number} 公里/NOUN 。/PUNCT",
    "{PL} 的/PART {S} 让/VERB {PN} {V} {end}",
)

DENSE: tuple[str, ...] = (
    "{cry} ，/PUNCT {PN} ！/PUNCT",
    "{PN} ，/PUNCT {PL} ，/PUNCT {number} 次/NOUN",
    "{cry} ，/PUNCT {cry} ，/PUNCT {PN} 在/VERB {PL} {end}",
)

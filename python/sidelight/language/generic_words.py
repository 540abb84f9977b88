"""Which nouns name no thing of their own? The stop list of entities.

Hand-made while reading samples of real vaults (`scripts/review_entities.py`): words that stand in
every note and connect everything with everything.
"""

from __future__ import annotations

_CHINESE = """
时候 时间 时刻 时期 东西 问题 方法 情况 方式 内容 地方 事情 事 事件 部分 结果 过程 方面 原因 作用 意思 程度 关系
基础 目的 条件 形式 能力 机会 感觉 大家 有人 个人 别人 人们 人 人家 自己人 本身 名字 名称 例子 样子 办法 做法 想法 说法
看法 因素 特点 范围 状态 类型 种类 整体 全部 全体 总体 大部分 一部分 个体 对象 现象 意义 目标 任务 工作 生活 世界 社会
经验 水平 质量 数量 价值 影响 变化 发展 活动 行为 行动 关键 重点 核心 本质 角度 层面 领域 方向 结构 功能 步骤 阶段
前提 背景 标准 原则 要求 需求 建议 选择 效果 表现 信息 资料 材料 文章 文字 词 话 句子 笔记 标题 题目 链接 图片
上面 下面 前面 后面 里面 外面 左右 上下 前后 中间 旁边 附近 地点 位置 页面 版本 模式 系统 数据 用户 参考 来源 日期
时 者 后 前 内 用 全力 两者 用途 模样 玩意 全球范围 有所 层层 范围内
年 月 日 天 钟 点 岁 元 块 号 次 条 件 项 类 层 级 性 点儿 图 表 头 面 手 心 家 门 口 声 力 法 物 路上 一生 一般 原文
总结 解释 描述 定义 说明 分析 研究 理解 思考 认识 知识 学习 使用 应用 操作 处理 管理 设计 开发 测试 记录 介绍 更新
整理 我心 场合
错误 正确 困难 难度 优点 缺点 好处 坏处 区别 差异 相似 比例 单位 数字 个数 长度 大小 高度 速度 次数 顺序 排名
"""
# What the dictionary calls nouns and are none: adverbs, adjectives, verbs. They end a run of nouns.
_NO_NOUNS = """
无法 精心 基本 热衷 有关 运用 误导 作梗 充分考虑 轻量 奇差 首要 合理 过度 全部 都是 自带 明显 严格 执行 交由 中用
超量 餐餐 刻板 家常 提高 普通 实际 相关 有效 完整 主要 其他 具体 简单 利用 影响 加强 继续 中断 分解 教会 总会 高昂
战胜 说服 拉满 叫板 徒劳 火热 放平 会用 直言 意会 消失 全部 整体 大家 短期内 突然 直接 间接 同时 随时 经常 大量 少量
免费 全程 努力 成为 变成 属于 具有 拥有 得到 获得 达到 造成 导致 引起 带来 需要 必须 应该 可能 可以 能够 不能 没有
"""
_ENGLISH = """
note notes thing things way ways case cases example examples part parts time times day days year
years lot kind kinds sort list lists line lines name names number numbers text item items user
users readme index todo untitled home page pages section sections file files folder folders tag
tags value values option options setting settings version versions change changes same first
second last next new other
"""
# Capitalised or all in capitals without naming a thing.
_NOT_NAMES = """
monday tuesday wednesday thursday friday saturday sunday january february march april june july
august september october november december note notes tip warning info example see use add set
get let show hide click press open close run make please thanks yes no ok okay todo am pm utc gmt
etc eg ie vs one two three four five six seven eight nine ten mr mrs ms dr true false null none
done goal apply not and low medium high highest lowest normal quick special
mondays tuesdays wednesdays thursdays fridays saturdays sundays tell fixed restart full important
jan feb mar apr jun jul aug sep sept oct nov dec
today tomorrow yesterday spring summer autumn winter english chinese
"""

# English words that are no part of a noun phrase worth keeping: they only say which one, or end it.
_NO_PART = """
first second third last next previous new old other another whole full entire following correct
current big small large little long short good best better great brand specific single separate
different similar several many few two three four five six extra own certain general simple basic
exists exist begin begins begun contains contain becomes become fails fail needs need aims built
shows show works work makes takes gives goes comes runs looks instead anywhere otherwise available
still even actually currently away back together apart earlier later soon already also gets said
uses called matches match means includes include requires require execute executes closes close saves save changes
offers offer shown found afterwards uses
starts start ends end describes describe passes pass marks mark allows allow gives give returns
supports support appears appear happens happen lets means tells
particular powerful typical wrong right meaningful careful convenient appropriate incorrect exact
simplest easiest older newer original usual common main possible useful helpful important special
matters provides depends inside outside concise lower upper wide take takes care variety descriptive thorough individual consists falls quick easy hard nice proper suitable relevant various necessary additional alternative
"""

NO_NOUNS = frozenset(_NO_NOUNS.split())
GENERIC = NO_NOUNS | frozenset((_CHINESE + _ENGLISH).split())
NOT_NAMES = frozenset(_NOT_NAMES.split())
NO_PART = frozenset(_NO_PART.split())

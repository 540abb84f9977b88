"""Which words say how a question is asked, not what it is about?

Hand-made lists of function and question words, in the folded form of `terms`. They stay in the
index; in a query they weigh little, and count fully where a query has nothing else.
"""

from __future__ import annotations

_ENGLISH = """
a about above after again against all also am an and any are aren't as at be because been before
being below between both but by can can't cannot could couldn't did didn't do does doesn't doing
don't down during each either else ever every few for from further get gets getting give given
had hadn't has hasn't have haven't having he he's her here hers herself him himself his how how's
i i'd i'll i'm i've if in into is isn't it it's its itself just let let's like made make many may
me might more most much must mustn't my myself need neither no nor not now of off on once one only
or other our ours ourselves out over own per please really s same shall she she's should shouldn't
since so some such t than that that's the their theirs them themselves then there there's these
they they're they've this those though through thus to too under until up upon us use used using
very was wasn't way we we're we've were weren't what what's when where where's which while who
who's whom whose why will with within without won't would wouldn't yes yet you you're you've your
yours yourself re ve ll d m
"""
_CHINESE = """
的 了 吗 呢 吧 啊 呀 嘛 着 过 地 得 之 其 于 与 和 及 或 而 且 但 在 是 有 为 被 把 对 从 到 由 以 向
也 都 就 还 又 再 才 很 更 最 太 不 没 没有 无 这 那 哪 此 该 每 各 某 我 你 他 她 它 您 我们 你们 他们 她们 它们
自己 什么 甚么 怎么 怎样 怎么样 如何 为什么 为何 何时 何处 何地 何人 谁 哪个 哪些 哪里 哪儿 哪一 哪种 多少 几 几个
是否 能否 可否 能不能 可不可以 是不是 有没有 要不要 会不会 可以 能 能够 会 要 想 应该 应当 需要 必须 可能
这个 那个 这些 那些 这样 那样 这里 那里 这种 那种 这么 那么 一个 一种 一些 一下 一样 一般 一直
因为 所以 如果 虽然 但是 然而 而且 并且 或者 还是 以及 以后 以前 之后 之前 之间 之中 其中 其他 其它 时候 时
关于 对于 由于 根据 通过 按照 作为 之一 等 等等 个 种 些 上 下 里 中 内 外 来 去 做 让 使 用 请 请问 呢 吗
被称 称为 称作 叫 叫做 叫作 属于 位于 进行 有关 有什么 是什么 什么样 为了 因此 于是 只 只有 只是 就是 都是 还有 也是
"""

STOP_WORDS = frozenset((_ENGLISH + _CHINESE).split())
STOP_CHARACTERS = frozenset(
    "的了吗呢吧啊呀嘛么什怎哪谁之其而且但是在有为被把这那此很也都就还又才与和及或何"
)

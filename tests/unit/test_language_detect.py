"""The language that carries the content."""

from __future__ import annotations

import time

import pytest

from sidelight.language.detect import detect

CODE = "```python\nfor name in the_list:\n    print(name, what, is_this)\n```\n"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("如何备份我的笔记", "zh"),
        ("哪一種物質為世界上最普遍被使用的", "zh"),
        ("How do I back up my notes?", "en"),
        ("docker system prune", "en"),
        ("これはペンです。東京に行きました", "ja"),
        ("나는 한국어를 공부한다", "ko"),
        ("Как сделать резервную копию", "ru"),
        ("Як зробити резервну копію її", "uk"),
        ("كيف أعمل نسخة احتياطية", "ar"),
        ("Πώς κάνω αντίγραφα", "el"),
        ("मैं कैसे नोट्स रखूँ", "hi"),
        ("จะสำรองข้อมูลอย่างไร", "th"),
        ("Wie sichere ich die Notizen, und wo werden sie gespeichert?", "de"),
        ("¿Cómo hago una copia de los datos?", "es"),
        ("Comment sauvegarder les notes dans un dossier?", "fr"),
        ("Cum pot să salvez notițele și unde sunt?", "ro"),
        ("Notlarımı nasıl yedeklerim ve nerede?", "tr"),
        ("Làm thế nào để sao lưu những ghi chú của tôi", "vi"),
    ],
)
def test_languages_are_told_apart(text: str, language: str) -> None:
    assert detect(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "导入 Pydantic 的 BaseModel",
        "kube-proxy 的 nftables 模式怎么开启",
        "MIT OpenCourseWare 指什么？",
        "Internet2是什么",
        "Cookie 参数",
        CODE + "这段代码打印名字。",
        "[文档](https://example.com/a/very/long/path/that/says/nothing.html)",
        "`sidelight search VAULT QUERY --json` 用来搜索",
    ],
)
def test_names_code_and_addresses_do_not_make_a_chinese_text_english(text: str) -> None:
    assert detect(text) == "zh"


@pytest.mark.parametrize(
    "text",
    [
        "The word 图书馆 means library, and it is written with three characters in the text.",
        CODE + "This prints the names of the list.",
        "Warsaw (Polish: Warszawa) is the capital of Poland and one of its largest cities.",
    ],
)
def test_a_few_foreign_words_do_not_change_an_english_text(text: str) -> None:
    assert detect(text) == "en"


def test_code_counts_where_there_is_nothing_else() -> None:
    assert detect(CODE) == "en"
    assert detect("https://example.com/path") == "en"


@pytest.mark.parametrize("text", ["", "  \n", "123 + 456 = ?", "🎉✅", "---\n---\n"])
def test_no_letter_is_no_language(text: str) -> None:
    assert detect(text) == "und"


def test_letters_far_down_are_seen() -> None:
    assert detect("1 " * 20_000 + "这里有字") == "zh"


@pytest.mark.parametrize("piece", ["字", "a", "a/", "$$", "<", "```", "`", "@", "a b ", "[]("])
def test_no_text_takes_long(piece: str) -> None:
    started = time.process_time()
    detect(piece * (400_000 // len(piece)))
    assert time.process_time() - started < 2.0  # seconds; quadratic work takes minutes

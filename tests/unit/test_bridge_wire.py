"""Wire forms: the contract's keys, UTF-16 units, equal bytes, parameters, generated files."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bridge_fakes import CITATION, answer

from sidelight import types
from sidelight.bridge import protocol
from sidelight.bridge.params import checked, whole_characters
from sidelight.bridge.protocol import (
    GrepParams,
    HelloParams,
    RelatedParams,
    ResolveParams,
    SearchParams,
    search_result_json,
)
from sidelight.bridge.wire import encode, plain, utf16_length, utf16_ranges
from sidelight.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]


def test_a_search_result_has_the_keys_of_the_contract_in_their_order() -> None:
    wire = search_result_json(answer("咖啡"))
    assert list(wire) == [
        "status", "code", "reasons", "query", "results", "near_misses", "degraded", "index",
        "timing_ms", "trace", "sources", "cards",
    ]  # fmt: skip
    assert list(wire["results"][0]) == [
        "rank", "ref", "source", "also_in", "path", "title", "heading_path", "text", "snippet",
        "origin", "graph_provenance", "channels", "rrf_score", "rerank_score", "evidence",
        "citation", "conflict_of", "entry", "via_card", "credibility",
    ]  # fmt: skip
    assert list(wire["results"][0]["citation"]) == [
        "kind", "status", "match", "start_line", "end_line", "columns", "node", "file_hash",
    ]  # fmt: skip


def test_no_evidence_has_its_code_and_its_near_misses() -> None:
    result = answer("咖啡")
    refused = replace(
        result,
        ok=False,
        reasons=(types.Reason("below_threshold", "Too weak."),),
        near_misses=result.results,
        results=(),
    )
    wire = search_result_json(refused)
    assert (wire["status"], wire["code"]) == ("no_evidence", "RAG_NO_EVIDENCE")
    assert wire["reasons"] == [{"kind": "below_threshold", "message": "Too weak."}]
    assert wire["near_misses"][0]["path"] == "Coffee.md"


def test_highlights_are_utf16_units() -> None:
    text = "豆子 𠮷 Beans 😀 end"
    wire = search_result_json(answer("x", note_text=text))
    (start, end) = wire["results"][0]["snippet"]["highlights"][1]
    units = text.encode("utf-16-le")
    expected = text[5:10]
    assert units[2 * start : 2 * end].decode("utf-16-le") == expected
    assert utf16_ranges("beans", ((1, 3),)) == [[1, 3]]
    assert utf16_ranges("豆子", ((1, 2),)) == [[1, 2]]
    assert utf16_length("a𠮷😀") == 5


def test_columns_are_utf16_units_of_the_whole_line() -> None:
    line = "😀前文 𠮷 the passage 😀 after"
    text = "𠮷 the passage 😀"
    start = line.index(text)
    wide = sum(c > "\uffff" for c in line[:start])
    citation = replace(CITATION, columns=(start, start + len(text)), wide_before=wide, text=text)
    result = answer("x")
    wire = search_result_json(
        replace(result, results=(replace(result.results[0], citation=citation),))
    )
    columns = wire["results"][0]["citation"]["columns"]
    assert columns is not None
    units = line.encode("utf-16-le")
    assert units[2 * columns[0] : 2 * columns[1]].decode("utf-16-le") == text


def test_equal_results_are_equal_bytes_and_numbers_keep_their_value() -> None:
    first, second = (encode(search_result_json(answer("咖啡"))) for _ in range(2))
    assert first == second
    assert json.loads(first)["results"][0]["rrf_score"] == 1 / 61
    assert "豆子" in first


def test_numbers_of_numpy_and_infinities_become_json() -> None:
    value = {"a": np.float32(0.5), "b": np.int64(3), "c": float("nan"), "d": (1, {"x"})}
    assert plain(value) == {"a": 0.5, "b": 3, "c": None, "d": [1, ["x"]]}
    with pytest.raises(ValueError, match="JSON compliant"):
        encode(float("inf"))


def test_file_names_that_are_not_utf8_can_be_sent() -> None:
    assert json.loads(encode("bad\udcff 豆")) == "bad\udcff 豆"
    encode("bad\udcff 豆").encode("utf-8")


def test_half_characters_never_reach_the_tokenizer() -> None:
    assert whole_characters("豆\ud83d子") == "豆\ufffd子"
    assert whole_characters("豆\ud83d\ude00") == "豆😀"
    assert whole_characters("𠮷 plain") == "𠮷 plain"


def check_params(message: type, params: Any, expected: Any) -> None:
    if isinstance(expected, str):
        with pytest.raises(UsageError) as caught:
            checked(message, params)
        assert expected in caught.value.message
        assert caught.value.code == "INVALID_PARAMS"
    else:
        assert checked(message, params) == expected


@pytest.mark.parametrize(
    ("message", "params", "expected"),
    [
        (SearchParams, {"text": "咖啡"}, {"text": "咖啡"}),
        (SearchParams, {"text": "", "limit": 3.0}, {"text": "", "limit": 3}),
        (SearchParams, {"text": "x", "mode": None, "filters": None}, {"text": "x"}),
        (SearchParams, {"text": "x", "filters": {"a": [1]}}, {"text": "x", "filters": {"a": [1]}}),
        (SearchParams, {}, "'text' is missing"),
        (SearchParams, {"text": None}, "'text' must be a string"),
        (SearchParams, {"text": 5}, "'text' must be a string"),
        (SearchParams, {"text": "x" * 10_001}, "10,000 characters"),
        (SearchParams, {"text": "x", "limit": 0}, "between 1 and 1,000"),
        (SearchParams, {"text": "x", "limit": 1.5}, "whole number"),
        (SearchParams, {"text": "x", "limit": True}, "whole number"),
        (SearchParams, {"text": "x", "limit": "3"}, "whole number"),
        (SearchParams, {"text": "x", "mode": "fast"}, "one of hybrid, lexical"),
        (SearchParams, {"text": "x", "mode": ["lexical"]}, "one of hybrid, lexical"),
        (SearchParams, {"text": "x", "rerank": 1}, "true or false"),
        (SearchParams, {"text": "x", "filters": []}, "must be an object"),
        (SearchParams, {"text": "x", "秘密": 1}, "does not know"),
        (SearchParams, ["x"], "by name"),
        (RelatedParams, {"path": ""}, "1 to 4,096 characters"),
        (ResolveParams, {"ref": "r", "buffer": ""}, {"ref": "r", "buffer": ""}),
        (GrepParams, {"pattern": ""}, "1 to 1,000 characters"),
        (HelloParams, {"token": "t", "protocol": 1, "client": "x"}, {"token": "t", "protocol": 1, "client": "x"}),
        (HelloParams, {"token": "t", "protocol": 1, "client": {"name": "n"}}, {"token": "t", "protocol": 1, "client": {"name": "n"}}),
        (HelloParams, {"token": "t", "protocol": 1, "client": 7}, "'client'"),
        (HelloParams, {"token": "t"}, "'protocol' is missing"),
    ],
)  # fmt: skip
def test_parameters_are_checked_by_name_type_and_bounds(
    message: type, params: Any, expected: Any
) -> None:
    check_params(message, params, expected)


def test_a_refused_parameter_is_never_quoted() -> None:
    with pytest.raises(UsageError) as caught:
        checked(SearchParams, {"text": "x", "我的秘密": 1})
    assert "秘密" not in str(caught.value)


def test_typescript_and_reference_page_are_not_stale() -> None:
    script = ROOT / "scripts" / "generate_protocol.py"
    run = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    page = (ROOT / "docs" / "protocol.md").read_text("utf-8")
    for spec in (*protocol.METHODS, *protocol.NOTIFICATIONS):
        assert f"`{spec.name}`" in page


def test_a_stale_file_fails_the_check_and_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    generate = importlib.import_module("generate_protocol")
    stale = tmp_path / "protocol.ts"
    stale.write_text(generate.typescript() + "// changed\n", "utf-8")
    monkeypatch.setattr(generate, "TYPESCRIPT", stale)
    assert generate.main(["--check"]) == 1
    assert "protocol.ts is stale" in capsys.readouterr().out
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    assert "highlights: [number, number][];" in stale.read_text("utf-8")


@pytest.mark.parametrize("text", ["kiln", "窑炉"])
def test_a_number_may_come_without_its_point(text: str) -> None:
    params = checked(protocol.PackParams, {"text": text, "diversity": 1})
    assert isinstance(params["diversity"], float)
    with pytest.raises(UsageError, match="must be a number"):
        checked(protocol.PackParams, {"text": text, "diversity": True})

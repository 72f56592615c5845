"""Objects of documents and of lines, however their text is cut into blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from airflow_provider_odf.engine.read.json_text import in_array, on_lines
from airflow_provider_odf.engine.read.source import Malformed

DOCUMENT = (
    '\n {"skip": [[1, "]"], {"x": {}}, -1.5e3, "\\"}"], "n": 12, "t": true,\n'
    ' "found": {"here": [{"a": 1.50, "b": "\\u00e9{"}, {"a": null}, {}], "after": [] }, "z": -0 } \n'
)

FOUND = [(1, {"a": "1.50", "b": "é{"}), (2, {"a": None}), (3, {})]

values = hs.recursive(
    hs.none() | hs.booleans() | hs.integers(-999, 999) | hs.floats(0, 1e9) | hs.text(max_size=4),
    lambda inner: hs.lists(inner, max_size=3) | hs.dictionaries(hs.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def cut(text: str, size: int) -> Iterator[str]:
    return (text[i : i + size] for i in range(0, len(text), size))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_however_the_text_is_cut(size: int) -> None:
    assert list(in_array(cut(DOCUMENT, size), ["found", "here"])) == FOUND


@settings(max_examples=60)
@given(hs.lists(hs.dictionaries(hs.text(max_size=3), values, max_size=3)), values, hs.integers(1, 9))
def test_agrees_with_python(records: list[object], beside: object, size: int) -> None:
    text = json.dumps({"beside": beside, "records": records, "z": beside}, indent=1)
    parsed = json.loads(text, parse_int=str, parse_float=str)["records"]
    assert list(in_array(cut(text, size), ["records"])) == list(enumerate(parsed, 1))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_key_on_the_path_comes_once(size: int) -> None:
    with pytest.raises(Malformed, match="line 2: duplicate key a at the root"):
        list(in_array(cut('{"a": [{}],\n"a": [{}]}', size), ["a"]))


@pytest.mark.parametrize("size", [1, 4, 100])
def test_lines_however_the_text_is_cut(size: int) -> None:
    text = '{"a": 1}\n\n{"b": "y"} {"a": [3]}\r\n{}'
    assert list(on_lines(cut(text, size), 5)) == [(5, {"a": "1"}), (7, {"b": "y"}), (7, {"a": ["3"]}), (8, {})]

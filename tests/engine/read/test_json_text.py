"""JSON that streams by: the same values however its text is cut, and memory that does not follow its length."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from airflow_provider_odf.engine.read import json_text
from airflow_provider_odf.engine.read.json_text import JsonText, in_array
from airflow_provider_odf.engine.read.source import Malformed


def cut(text: str, size: int) -> Iterator[str]:
    return (text[i : i + size] for i in range(0, len(text), size))


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1},\n{"a": 2', "line 2, record 2: invalid JSON: Expecting ',' delimiter at the end of the text"),
        ('[{"a": 1},\n{"a": "x]', "line 2, record 2: invalid JSON: Unterminated string starting at '\"x]'"),
        ('[{"a": 1}\n{"a": 2}]', "line 2: invalid JSON: expected a comma or ] at '{\"a\": 2}]'"),
        ('[{"a": 1},]', "line 1: invalid JSON: ] after a comma at ']'"),
        ("[1.]", "record 1: '1' is not a JSON object"),
        ("[] []", "line 1: unexpected text after the end of the JSON document at '[]'"),
        ("tru", "line 1: invalid JSON: Expecting value at 'tru'"),
        ("17", "at the root there is the value '17', not an array: set `subPath` to where the array is"),
        ('{"a": [], "b"', "line 1: invalid JSON: expected a colon at the end of the text"),
    ],
)
def test_what_is_wrong_is_told_alike(text: str, message: str, size: int) -> None:
    with pytest.raises(Malformed) as e:
        list(in_array(cut(text, size), []))
    # What is quoted is no longer than what has been read.
    assert str(e.value) == message if size == 1000 else message.startswith(str(e.value).rstrip("'"))


def test_deep_nesting_is_an_error_of_the_data() -> None:
    with pytest.raises(Malformed, match="record 1: values are nested too deeply"):
        list(in_array(["[" * 100_000], []))
    with pytest.raises(Malformed, match="line 1: values are nested too deeply"):
        list(in_array(['{"a": ' + "[" * 100_000], ["b"]))


class Window(JsonText):
    largest = 0

    def _read_more(self) -> bool:
        is_more = super()._read_more()
        Window.largest = max(Window.largest, len(self._text))
        return is_more


def test_a_window_holds_little_more_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_provider_odf.engine.read.json_text.JsonText", Window)
    blocks = ['{"beside": [', *['{"b": [[1, 2], {"c": "d"}]},\n'] * 5000, '0], "records": [', *['{"a": 1},'] * 5000]
    records = in_array([*blocks, "{}]}"], ["records"])
    assert sum(1 for _ in records) == 5001
    assert Window.largest < 200


def test_a_value_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "LONGEST", 1000)
    with pytest.raises(Malformed, match="line 1, record 1: invalid JSON: a value of more than"):
        list(in_array(itertools.chain(['[{"a": "'], itertools.repeat("x" * 100)), []))

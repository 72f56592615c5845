"""Places inside texts of every YAML style."""

from __future__ import annotations

import pytest

from airflow_provider_odf.errors import Place
from airflow_provider_odf.manifest.manifest import place_within
from airflow_provider_odf.manifest.yaml_source import parse


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("a:\n  query: select 1, nope\n", (2, 20)),
        ("a:\n  query: |\n    select 1,\n\n      nope\n", (5, 7)),
        ("a:\n  query: |-  # a comment\n    select 1,\n    nope\n", (4, 5)),
        ("a:\n  query: &q |\n    select 1, nope\n", (3, 15)),
        ("a:\n  query: >\n    select 1,\n    nope\n", (4, 5)),
        ("a:\n  query: select 1,\n    nope\n", (3, 5)),
        ("a:\n  query: 'select ''é'', nope'\n", (2, 25)),
        ('a:\n  query: "select 1,\\n \\"x\\", nope"\n', (2, 30)),
        ('a:\n  query: "select 1, \\\n    nope"\n', (3, 5)),
        ('a:\n  query: "select \\u00e9, nope"\n', (2, 26)),
    ],
)
def test_the_word_is_found(source: str, place: tuple[int, int]) -> None:
    document = parse(source, "f.yaml")[0]
    text = document.value["a"]["query"]
    before = text[: text.index("nope")]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert place_within(source, document.place(("a", "query")), text, line, column) == Place("f.yaml", *place)


def test_the_whole_text_and_what_leads_nowhere_are_its_start() -> None:
    start = Place("f.yaml", 1, 4)
    assert place_within("q: |\n  select\n", start, "select\n", 0, 0) == start
    assert place_within("q: |\n  select\n", start, "select\n", 7, 9) == start
    assert place_within("q: |\n  select\n", Place("f.yaml"), "select\n", 1, 1) == Place("f.yaml")

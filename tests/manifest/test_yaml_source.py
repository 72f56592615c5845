from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.manifest.yaml_source import dump_yaml, parse, scan


def value(text: str) -> object:
    (document,) = parse(text, "f.yaml")
    return document.value


def errors(text: str) -> list[str]:
    with pytest.raises(ManifestInvalid) as caught:
        parse(text, "f.yaml")
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("NO", "NO"),
        ("on", "on"),
        ("~", None),
        ("12", 12),
        ("-3", -3),
        ("0777", 777),
        ("0o17", 15),
        ("0xff", 255),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("1.5e3", 1500.0),
        ("-.5", -0.5),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("2024-05-02", "2024-05-02"),
        ("2024-05-02T08:00:00Z", "2024-05-02T08:00:00Z"),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("[a, 1]", ["a", 1]),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, expected: object) -> None:
    got = value(f"k: {text}")["k"]  # type: ignore[index]
    assert (got, type(got)) == (expected, type(expected))


def test_nan() -> None:
    assert math.isnan(value("k: .NaN")["k"])  # type: ignore[index]


def test_keys_are_texts() -> None:
    assert value("on: 1\n5: 2\nnull: 3\ntrue: 4") == {"on": 1, "5": 2, "null": 3, "true": 4}


def test_several_documents() -> None:
    assert [d.value for d in parse("a: 1\n---\nb: 2\n...\n", "f")] == [{"a": 1}, {"b": 2}]


def test_anchors_and_merge_keys() -> None:
    assert value("x: &x {p: 1, q: 2}\ny: {<<: *x, q: 3}\nz: *x\n") == {
        "x": {"p": 1, "q": 2},
        "y": {"q": 3, "p": 1},
        "z": {"p": 1, "q": 2},
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3", ["f.yaml:3:1: `a` is repeated (the first is in line 1)"]),
        ("b: {a: 1, a: 2}", ["f.yaml:1:11: `a` is repeated (the first is in line 1)"]),
        ("a: !Ref x", ["f.yaml:1:4: unknown tag !Ref (quote the value if it is a string)"]),
        ("a: !!int x", ["f.yaml:1:4: not a value of int: 'x' is not an integer"]),
        ("? [a]\n: b", ["f.yaml:1:3: a key must be a string"]),
        ("x: &a [*a]", ["f.yaml:1:4: an alias refers to a value that contains it"]),
        (
            "a: b: c",
            [
                "f.yaml:1:5: not YAML: mapping values are not allowed in this context "
                "(quote a string that contains `: `, and check the indentation)"
            ],
        ),
        (
            "a:\n\tb: 1",
            [
                "f.yaml:2:1: not YAML: found character that cannot start any token "
                "(indent with spaces, and quote a string that starts with @, ` or %)"
            ],
        ),
        ("a: 'x", ["f.yaml:1:6: not YAML: found unexpected end of stream (a quote is not closed)"]),
        (
            "a: [1,2",
            ["f.yaml:2:1: not YAML: did not find expected ',' or ']' (a `[` or `{` is not closed)"],
        ),
        (
            "é: \x00",
            ["f.yaml:1:4: not YAML: the character '\\x00' is not allowed (write it as an escape in double quotes)"],
        ),
    ],
)
def test_errors_have_their_place(text: str, expected: list[str]) -> None:
    assert errors(text) == expected


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 100_000, "{a: " * 50_000, "? " * 100_000])
def test_a_text_made_to_nest_deep_is_refused_and_crashes_nothing(text: str) -> None:
    assert "nested deeper than 100 levels" in errors(text)[0]


def test_nesting_of_moderate_depth_is_refused_at_its_place() -> None:
    assert errors("[" * 150 + "]" * 150) == ["f.yaml:1:101: nested deeper than 100 levels"]


def test_aliases_do_not_explode() -> None:
    lines = ["a: &a [" + "1," * 10 + "]"]
    lines += [f"{x}: &{x} [{f'*{y},' * 10}]" for y, x in zip("abcdefgh", "bcdefghi", strict=True)]
    assert errors("\n".join(lines)) == [
        "f.yaml:1:1: aliases expand to 1234567900 values (write the values without aliases, or split the document)"
    ]


def test_documents_before_a_syntax_error_are_kept() -> None:
    documents, problems = scan("a: 1\n---\nb: [", "f.yaml")
    assert [d.value for d in documents] == [{"a": 1}]
    assert [p.place.line for p in problems] == [4]


def test_places() -> None:
    (document,) = parse("x:\n  - a: 1\n    b:\n      c: d\nm: &m {k: v}\nn:\n  <<: *m\n", "f")
    places = {
        ("x",): "f:1:1",
        ("x", 0): "f:2:5",
        ("x", 0, "a"): "f:2:8",
        ("x", 0, "b"): "f:3:5",
        ("x", 0, "b", "c"): "f:4:10",
        ("x", 0, "b", "missing", "deep"): "f:3:5",
        ("x", 7): "f:1:1",
        ("n", "k"): "f:5:11",
        (): "f:1:1",
    }
    assert {path: str(document.place(path)) for path in places} == places
    assert str(document.place(("x", 0, "a"), of_key=True)) == "f:2:5"


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12) | st.sampled_from(
    ["yes", "1e5", "0o7", "~", "null", "", " x", "a\nb\n", "x\n\n", "- a", "2020-01-01", "#", "a: b", "\t\n", "=", "<<"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_what_is_dumped_is_parsed_back(given_value: object) -> None:
    assert value(dump_yaml({"k": given_value})) == {"k": given_value}


def test_dump_is_for_people() -> None:
    assert dump_yaml({"b": "x\ny\n", "a": ["yes", "é"], "c": {}}) == "b: |\n  x\n  y\na:\n- 'yes'\n- é\nc: {}\n"

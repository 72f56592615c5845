from __future__ import annotations

import pytest

from airflow_provider_odf.dialect.regex import count_groups, java_pattern, java_replacement, matches_nothing


@pytest.mark.parametrize(
    ("rust", "java"),
    [
        ("abc", "(?Ud)abc"),
        (r"^\d+(?:a|b)?$", r"(?Ud)^\d+(?:a|b)?\z"),
        (r"[^a-z\d_.-]{2,3}?", r"(?Ud)[^a-z\d_.-]{2,3}?"),
        (r"[]a]", r"(?Ud)[]a]"),
        (r"\$\.\(", r"(?Ud)\$\.\("),
    ],
)
def test_pattern(rust: str, java: str) -> None:
    assert java_pattern(rust) == java


def test_flags() -> None:
    assert java_pattern("a", "i") == "(?Ud)(?iu)a"
    with pytest.raises(ValueError, match="flags x are not translated"):
        java_pattern("a", "x")


@pytest.mark.parametrize(
    "pattern",
    [
        r"\pL",
        r"\Qa\E",
        r"(?P<n>a)",
        r"(?i)a",
        r"[a&&b]",
        r"[[:alpha:]]",
        r"a(?=b)",
        r"\1",
        "a{",
        "[a",
        "(a",
        "a)",
        r"\A",
        "a++",
    ],
)
def test_patterns_that_only_one_engine_has_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError):
        java_pattern(pattern)


@pytest.mark.parametrize(
    ("rust", "java"),
    [("x", "x"), (r"<\1>", "<$1>"), ("${2}0", r"$2\0"), ("$1", "$1"), ("$1-", "$1-"), ("a1", r"a\1"), ("", "")],
)
def test_replacement(rust: str, java: str) -> None:
    assert java_replacement(rust) == java


def test_replacement_with_shifted_groups() -> None:
    assert java_replacement(r"\2${0}", 2) == "$4$2"


@pytest.mark.parametrize("replacement", ["$1a", "$name", "${name}", "\\n", "$$", "a\\"])
def test_replacements_that_would_be_read_differently_are_refused(replacement: str) -> None:
    with pytest.raises(ValueError, match="has no exact form"):
        java_replacement(replacement)


def test_empty_matches_and_groups() -> None:
    assert matches_nothing("x*")
    assert matches_nothing(r"\b")
    assert matches_nothing("^")
    assert not matches_nothing("x+")
    assert count_groups(r"(a)(?:b)\((c)") == 2

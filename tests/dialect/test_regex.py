from __future__ import annotations

import pytest

from airflow_provider_odf.dialect.regex import count_groups, java_pattern, matches_nothing


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


def test_empty_matches_and_groups() -> None:
    assert matches_nothing("x*")
    assert matches_nothing(r"\b")
    assert matches_nothing("^")
    assert not matches_nothing("x+")
    assert count_groups(r"(a)(?:b)\((c)") == 2

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_odf.errors import InvalidInput


@pytest.mark.parametrize("pattern", ["abc", r"^\d+(?:a|b)?x$", r"[^a-z\d_.-]{2,3}?", "[]a]", r"\$\.\(", "(a)(b)"])
def test_patterns_of_regular_expressions_stay(expression: Callable[..., str], pattern: str) -> None:
    escaped = pattern.replace("\\", "\\\\")
    assert expression(f"regexp(s, '{pattern}')") == f"regexp_like(`s`, '{escaped}')"


@pytest.mark.parametrize(
    "pattern",
    [
        r"\pL", r"\Qa\E", "(?P<n>a)", "(?i)a", "[a&&b]", "[[:alpha:]]", "a(?=b)", r"\1", "a{", "[a", "(a", "a)", r"\A",
        "a++",
    ],
)  # fmt: skip
def test_patterns_that_only_one_engine_has_are_refused(expression: Callable[..., str], pattern: str) -> None:
    with pytest.raises(InvalidInput, match="pattern"):
        expression(f"regexp(s, '{pattern}')")


@pytest.mark.parametrize("pattern", ["x*", r"\b", "^", "$", "(?:a|)"])
def test_patterns_that_match_nothing_are_refused(expression: Callable[..., str], pattern: str) -> None:
    with pytest.raises(InvalidInput, match="the pattern can match nothing"):
        expression(f"regexp(s, '{pattern}')")


def test_groups_are_counted(expression: Callable[..., str]) -> None:
    assert "regexp_extract(`s`, '(a)(?:b)\\\\((c)', 2)" in expression(r"regexp_extract(s, '(a)(?:b)\((c)', 2)")
    with pytest.raises(InvalidInput, match="the pattern has no group 3"):
        expression(r"regexp_extract(s, '(a)(?:b)\((c)', 3)")

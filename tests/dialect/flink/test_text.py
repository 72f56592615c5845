"""Regular expressions of Flink, which are Java's as on Spark."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_odf.errors import InvalidInput


@pytest.mark.parametrize("pattern", ["abc", r"^\d+(?:a|b)?x$", "(?i)a", "a(?=b)", r"\pL", "x*"])
def test_patterns_stay(expression: Callable[..., str], pattern: str) -> None:
    escaped = pattern.replace("\\", "\\\\")
    assert expression(f"regexp(s, '{pattern}')") == f"regexp_like(`s`, '{escaped}')"


def test_the_empty_pattern_is_refused(expression: Callable[..., str]) -> None:
    with pytest.raises(InvalidInput, match="must be a literal string that is not empty"):
        expression("regexp(s, '')")


@pytest.mark.parametrize("pattern", ["(a)|b", "(a)?b", "(a)*b", "(a){0}b", "(?!(a))b", "(?<!(a))b"])
def test_a_group_that_may_be_missing_is_refused(expression: Callable[..., str], pattern: str) -> None:
    with pytest.raises(InvalidInput, match="optional groups are not supported"):
        expression(f"regexp_extract(s, '{pattern}', 1)")
    assert f"regexp_extract(`s`, '{pattern}', 0)" in expression(f"regexp_extract(s, '{pattern}')")


def test_replacements_are_plain_text(expression: Callable[..., str]) -> None:
    assert expression(r"regexp_replace(s, '(a)', '$1\n')") == r"regexp_replace(`s`, '(a)', '\\$1\\\\n')"

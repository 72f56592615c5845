from __future__ import annotations

import pytest

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.template import Environment

VARIABLES = {"test1": "val1", "test2": "val2"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no template", "no template"),
        ("${{ env.test1 }}, ${{ env.test2 || 'default2' }}", "val1, val2"),
        ("foo=${{ env.test3 || 'default-val3' }}", "foo=default-val3"),
        ("foo=${{ env.test3 || env.test4 || 'default-val3' }}", "foo=default-val3"),
        ("foo=${{ env.test3 || env.test1 || 'default-val3' }}", "foo=val1"),
        ("${{ env.missing || 123 }}", "123"),
        ("${{ env.missing || -123 }}", "-123"),
        ("${{ env.missing || 0.5 }}", "0.5"),
        ("${{env.test1}}", "val1"),
        ("${{ env.missing || '' }}|", "|"),
        ("${{ env.missing || 'a || b }} c' }}!", "a || b }} c!"),
        ("$HOME ${test1} {{ env.test1 }}", "$HOME ${test1} {{ env.test1 }}"),
    ],
)
def test_fill(text, expected):
    assert Environment(VARIABLES).fill(text, "url") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "${{ env.test1 }}, ${{ env.missing_var }}",
            "header X: value not found: env.missing_var (set the variable, or",
        ),
        ("${{ env.a || env.b }}", "header X: value not found: env.a || env.b (set"),
        (
            "X=${{ env.missing || qwe1 }}",
            "header X: invalid expression qwe1 in the template (use env.NAME, a number or 'text')",
        ),
        ("${{ }}", "header X: invalid expression  in the template (use"),
        ("${{ env.test1", "header X: a template begins with ${{ and does not end: close it with }}"),
    ],
)
def test_fill_refuses(text, message):
    with pytest.raises(InvalidInput) as e:
        Environment(VARIABLES).fill(text, "header X")
    assert str(e.value).startswith(message)


def test_only_values_that_were_given_out_are_redacted_in_every_spelling():
    environment = Environment({"KEY": "a b/c&d", "OTHER": "shown", "N": "7"})
    environment.fill("${{ env.KEY }}${{ env.N }}${{ env.NONE || 'literal' }}", "url")
    text = "a b/c&d a%20b/c%26d a%20b%2Fc%26d a+b%2Fc%26d shown literal 7 17"
    assert environment.redact(text) == "*** *** *** *** shown literal *** 17"

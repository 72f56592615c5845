from __future__ import annotations

import pytest

from airflow_provider_odf.contract.ecma import check, to_java


@pytest.mark.parametrize(
    ("ecma", "java"),
    [
        ("^[A-Za-z0-9]{8,14}$", r"^[A-Za-z0-9]{8,14}\z"),
        (r"^\$[0-9]+$", r"^\$[0-9]+\z"),
        (r"^[$]", "^[$]"),
        (r"[[a]", r"[\[a]"),
        (r"[^[]", r"[^\[]"),
        (r"[a&&b]", r"[a&\&b]"),
        (r"a&&b", "a&&b"),
        ("[^]", r"[\s\S]"),
        ("a[]b", "a(?!)b"),
        (r"[a\]$]$", r"[a\]$]\z"),
        (r"[a[]", r"[a\[]"),
        (r"\0\v", r"\x00\x0B"),
        (r"(?<year>\d{4})\k<year>", r"(?<year>\d{4})\k<year>"),
        (r"a{,2}{", r"a\{,2}\{"),
        (r"\p{L}{2}\u{41}", r"\p{L}{2}\u{41}"),
        (r"[{]a{2,}?", r"[{]a{2,}?"),
        ("", ""),
        ("line\nbreak", "line\nbreak"),
    ],
)
def test_rewrites(ecma: str, java: str):
    assert to_java(ecma) == java


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("([", "a [ without its ]: character 2 of (["),
        ("(a(b)", "a ( without its ): character 1 of (a(b)"),
        ("a)(", "a ) without its (: character 2 of a)("),
        ("[a", "a [ without its ]: character 1 of [a"),
        (r"[^\]", r"a [ without its ]: character 1 of [^\]"),
        ("*a", "nothing to repeat: character 1 of *a"),
        ("a|+", "nothing to repeat: character 3 of a|+"),
        ("(?:?)", "nothing to repeat: character 4 of (?:?)"),
        ("(?<n>*)", "nothing to repeat: character 6 of (?<n>*)"),
        ("^*", "nothing to repeat: character 2 of ^*"),
        ("a{2}{3}", "nothing to repeat: character 5 of a{2}{3}"),
        ("a**", "nothing to repeat: character 3 of a**"),
        ("a\\", "it ends with a backslash: character 2 of a\\"),
    ],
)
def test_what_is_no_expression_is_told_with_its_place(pattern: str, message: str):
    with pytest.raises(ValueError) as e:
        check(pattern)
    assert str(e.value) == message


@pytest.mark.parametrize(
    "pattern",
    [r"^[A-Z(*]{2,}?$", r"\(\[", "[)]*?", "(a|b)+(?:c)?(?=d)(?!e)(?<=f)(?<!g)(?<n>h)*", "a{,2}", "]}", "", "[]", "[^]+",
     "x(?i)y", r"\p{L}+", r"[\]]"],
)  # fmt: skip
def test_what_is_one(pattern: str):
    check(pattern)

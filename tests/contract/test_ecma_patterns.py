from __future__ import annotations

import pytest

from airflow_provider_odf.contract.ecma_patterns import check, is_regular, needs_linear_time, to_java, to_re2


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


@pytest.mark.parametrize(
    ("pattern", "is_linear", "regular", "re2"),
    [
        ("(a+)+$", True, True, r"(a+)+\z"),
        ("(a|ab)*c", True, True, "(a|ab)*c"),
        (r"^(?:[a-z]+\.)+$", True, True, r"^(?:[a-z]+\.)+\z"),
        ("((a*)b){2,}", True, True, "((a*)b){2,}"),
        (r"((a+)+)\1", True, False, r"((a+)+)\1"),
        ("(?=(a+)+)b", True, False, "(?=(a+)+)b"),
        ("^(abc)+$", False, True, r"^(abc)+\z"),
        ("[(a+)+]", False, True, "[(a+)+]"),
        (r"(x)\(+y", False, True, r"(x)\(+y"),
        ("(a|b)?", False, True, "(a|b)?"),
        (r"(?<year>[\u00e9[])a[]", False, True, r"(?P<year>[\x{00e9}\[])a[^\x00-\x{10FFFF}]"),
    ],
)
def test_patterns_that_could_take_exponential_time(pattern: str, is_linear: bool, regular: bool, re2: str):
    assert (needs_linear_time(pattern), is_regular(pattern), to_re2(pattern)) == (is_linear, regular, re2)

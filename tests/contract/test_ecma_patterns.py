from __future__ import annotations

import pytest
import regex

from airflow_provider_odf.contract.ecma_patterns import arguments, needs_linear_time, to_java, to_python, to_re2


@pytest.mark.parametrize(
    ("ecma", "java"),
    [
        ("^[A-Za-z0-9]{8,14}$", r"^[0-9A-Za-z]{8,14}\z"),
        (r"^\$[0-9]+$", r"^\$[0-9]+\z"),
        (r"[[a]", r"[\[a]"),
        (r"[a&&b]", r"[\&a-b]"),
        (r"a&&b", r"a\&\&b"),
        ("[^]", r"[\x{0}-\x{10ffff}]"),
        ("a[]b", r"a[^\x{0}-\x{10ffff}]b"),
        (r"[[:alpha:]]", r"[\:\[ahlp]\]"),
        (r"\0\v\cj\x41\u00e9", r"\x{0}\x{b}\x{a}A\x{e9}"),
        (r"\u{1f600}\ud83d\ude00", r"\x{1f600}\x{1f600}"),
        (".", r"[^\x{a}\x{d}\x{2028}-\x{2029}]"),
        (r"\d\w", "[0-9][0-9A-Z_a-z]"),
        (r"\bx", r"(?:(?<=[0-9A-Z_a-z])(?![0-9A-Z_a-z])|(?<![0-9A-Z_a-z])(?=[0-9A-Z_a-z]))x"),
        (r"(?<year>\d{4})\k<year>", r"([0-9]{4})(?:\1)"),
        (r"\1(a)", "(?:)(a)"),
        (r"a{,2}{", r"a\{\,2\}\{"),
        (r"\p{L}{2}\P{Letter}[^\p{Lu}x]\p{sc=Greek}", r"[\p{L}]{2}[\P{L}][^\p{Lu}x][\p{script=Greek}]"),
        (r"[{]a{2,}?", r"\{a{2,}?"),
        ("", ""),
        ("line\nbreak", r"line\x{a}break"),
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
        (r"[^\]", r"a [ without its ]: character 1 of [^\]"),
        ("[z-a]", "the range is in the wrong order: character 2 of [z-a]"),
        ("*a", "nothing to repeat: character 1 of *a"),
        ("a|+", "nothing to repeat: character 3 of a|+"),
        ("(?:?)", "nothing to repeat: character 4 of (?:?)"),
        ("(?<n>*)", "nothing to repeat: character 6 of (?<n>*)"),
        ("^*", "nothing to repeat: character 2 of ^*"),
        ("(?=a)*", "nothing to repeat: character 6 of (?=a)*"),
        ("a{2}{3}", "nothing to repeat: character 5 of a{2}{3}"),
        ("a++", "nothing to repeat: character 3 of a++"),
        ("a{2,1}", "the bounds are in the wrong order: character 2 of a{2,1}"),
        ("a\\", "it ends with a backslash: character 2 of a\\"),
        ("(?i)a", "ECMA-262 has no such group, nor inline flags: character 1 of (?i)a"),
        ("(?>a)", "ECMA-262 has no such group, nor inline flags: character 1 of (?>a)"),
        ("(?P<n>a)", "ECMA-262 has no such group, nor inline flags: character 1 of (?P<n>a)"),
        (r"\Aa", r"\A is no escape of ECMA-262: character 1 of \Aa"),
        (r"a\h", r"\h is no escape of ECMA-262: character 2 of a\h"),
        (r"\R", r"\R is no escape of ECMA-262: character 1 of \R"),
        (r"\Qa\E", r"\Q is no escape of ECMA-262: character 1 of \Qa\E"),
        (r"\pL", r"\p is no escape of ECMA-262: character 1 of \pL"),
        (r"\x4", r"\x is no escape of ECMA-262: character 1 of \x4"),
        (r"(a)?\1", r"group 1 may not have matched before the reference to it: character 5 of (a)?\1"),
        (r"(?:(a)|b)\1", r"group 1 may not have matched before the reference to it: character 10 of (?:(a)|b)\1"),
        (r"a\1", r"there is no group 1: character 2 of a\1"),
        (r"\k<n>", r"there is no group n: character 1 of \k<n>"),
        ("(?<=a+)b", "Java cannot look behind for any number of repetitions: limit them in (?<=a+)b"),
        (r"\u{110000}", r"there is no such code point: character 1 of \u{110000}"),
        (r"\p{L}{",
        r"not allowed in a pattern with \p{…} or \u{…}: escape what stands for itself: character 6 of \p{L}{"),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_with_its_place(pattern: str, message: str):
    with pytest.raises(ValueError) as e:
        to_java(pattern)
    assert str(e.value) == message
    assert arguments(pattern) == ({"pattern": pattern}, f"not a regular expression: {message}")


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"\s", "\u00a0", True), (r"\s", "\ufeff", True), (r"\s", "\x1c", False), (r"^\S$", "\ufeff", False),
        (r"^\d$", "\u0661", False), (r"^\w$", "é", False), ("^a$", "a\n", False), ("^.$", "\u2028", False),
        ("^.$", "\r", False), ("^.$", "\x85", True), ("^.$", "\U0001f600", True), (r"\bé", "é", False),
        (r"a\b", "aé", True), ("[^]", "\n", True), ("[]", "a", False), (r"\cJ", "\n", True), (r"\0", "\x00", True),
        ("[a&&b]", "&", True), ("[[:alpha:]]", "a", False), ("[[:alpha:]]", "a]", True), (r"[\b]", "\x08", True),
        (r"^(a)(?:\1)$", "aa", True), (r"(?<!a)b", "ab", False), (r"^[\w-]+$", "a-b", True), ("^k$", "\u212a", False),
    ],
)  # fmt: skip
def test_matches_recorded_from_v8(pattern: str, text: str, matches: bool):
    assert (regex.search(to_python(pattern), text) is not None) is matches


@pytest.mark.parametrize(
    ("pattern", "is_exponential", "re2"),
    [
        ("(a+)+$", True, r"(a+)+\z"),
        ("(a|ab)*c", True, "(a|ab)*c"),
        (r"^(?:[a-z]+\.)+$", True, r"^(?:[a-z]+\.)+\z"),
        ("((a*)b){2,}", True, "((a*)b){2,}"),
        (r"((a+)+)\1", True, None),
        ("(?=(a+)+)b", True, None),
        (r"(a+)+\B", True, None),
        ("^(abc)+$", False, r"^(abc)+\z"),
        ("[(a+)+]", False, r"[\(-\)\+a]"),
        ("(a|b)?", False, "(a|b)?"),
        (r"(?<year>[\u00e9[])a[]", False, r"([\[\x{e9}])a[^\x{0}-\x{10ffff}]"),
        (r"\b\p{sc=Greek}", False, r"\b[\p{Greek}]"),
    ],
)
def test_patterns_that_could_take_exponential_time(pattern: str, is_exponential: bool, re2: str | None):
    assert needs_linear_time(pattern) is is_exponential
    given, problem = arguments(pattern)
    if re2 is None:
        assert problem.startswith("matching this pattern could take exponential time")
        return
    assert to_re2(pattern) == re2
    assert (given.get("re2") == re2, "java" in given, problem) == (is_exponential, not is_exponential, "")

"""Patterns and texts at the edges of regular expressions, and what V8 makes of them."""

from __future__ import annotations

import json
import random
import subprocess

TEXTS = [
    "", "a", "b", "ab", "ba", "aa", "abab", "A", "_", "-", "1", "12", "\u0661", "\u00e9", "e\u0301", "\u00a0",
    "\ufeff", " ",
    "a b", "a\n", "\n", "a\r", "\r\n", "a\u2028", "\u2029", "\u0085", "a\u0085b", "\u000b", "\x1c", "\u200b", "\u180e",
    "a\u00e9", "\u00e9a1", "\u017f", "\u212a", "&", "a&&b", "[", "]", "a]", ":", "{", "a{,2}", "}", "\\", "\x08",
    "^", "$",
    "\x00", "\U0001f600", "a\U0001f600", "\u4e2d", "\u0391", "\u03b1", "hZ", "ACGT", "p", "x", "aaab", "bbb",
]  # fmt: skip

_ATOMS = [
    "a", "b", "1", "_", "-", ".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B", "^", "$", "[^]", "[]", r"\.",
    r"\n", r"\r", r"\t", r"\v", r"\f", r"\0", r"\cJ", r"\cj", r"\x41", r"\u00e9", r"\u{1f600}", r"\ud83d\ude00",
    "\u00e9",
    r"\p{L}", r"\P{L}", r"\p{Lu}", r"\p{Script=Greek}", r"\p{Letter}", r"\p{ASCII}", r"\P{Any}", "\U0001f600",
    r"\$", r"\-",
    r"\A", r"\z", r"\Z", r"\h", r"\R", r"\Q", r"\E", r"\G", r"\pL", r"\e", r"\N", "(?i)", "(?>a)", "(?#a)", r"\1",
    r"\2",
    r"\k<n>", r"\xg", r"\u12", r"\c1", r"\01", "{", "}", "]", "\u2028", r"\/", "/", "&", " ", ":", "#",
]  # fmt: skip
_MEMBERS = [
    "a", "b", "a-z", "A-Z", "0-9", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "&&", "&", "[", r"\]", "^", "-", "$",
    ".", r"\b",
    r"\n", r"\u00e9", r"\u{61}-\u{63}", r"\x41", ":alpha:", "[:alpha:", r"\p{L}", r"\P{L}", r"\-", "z-a", r"\cA",
    r"\0", "|",
    "--", "~~", "b-", r"\d-z", "#", " ", "\U0001f600", "\u2028",
]  # fmt: skip
_QUANTIFIERS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,}", "{0,2}", "{1,2}?", "*+", "++", "{,2}", "{2,1}"]
_GROUPS = ["(", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?<n>"]


def pattern(r: random.Random, depth: int = 2) -> str:
    """Return a pattern; some are not valid."""
    return "|".join("".join(_part(r, depth) for _ in range(r.randrange(1, 4))) for _ in range(r.choice([1, 1, 1, 2])))


def _part(r: random.Random, depth: int) -> str:
    sort = r.random()
    if sort < 0.22 and depth:
        part = f"{r.choice(_GROUPS)}{pattern(r, depth - 1)})"
    elif sort < 0.42:
        members = "".join(r.choice(_MEMBERS) for _ in range(r.randrange(0, 4)))
        part = f"[{r.choice(['', '^'])}{members}]"
    else:
        part = r.choice(_ATOMS)
    return part + (r.choice(_QUANTIFIERS) if r.random() < 0.3 else "")


_SCRIPT = """
const [patterns, texts] = JSON.parse(require('fs').readFileSync(0));
const legacy = p => { try { return ['', new RegExp(p)] } catch { return null } };
const compiled = p => { try { return ['u', new RegExp(p, 'u')] } catch { return legacy(p) } };
const judged = p => { const c = compiled(p); return c && [c[0], texts.map(t => c[1].test(t))] };
console.log(JSON.stringify(patterns.map(judged)));
"""


def judged(patterns: list[str], texts: list[str]) -> list[tuple[str, list[bool]] | None]:
    """Return for each pattern the flag it is valid with, and whether each text matches; None for no pattern."""
    done = subprocess.run(
        ["node", "-e", _SCRIPT], input=json.dumps([patterns, texts]), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)

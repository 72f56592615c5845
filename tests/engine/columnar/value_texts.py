"""Texts of values at the edges of every type and width, and texts that nearly are values."""

from __future__ import annotations

import struct
from decimal import Context, Decimal
from random import Random

_EXACT = Context(prec=1200)
_POWERS = (7, 8, 15, 16, 31, 32, 53, 63, 64, 127, 128)
_SCALES = (0, 1, 2, 9, 18, 19, 20, 37, 38)
_BLANKS = (" ", "  ", "\t", "\n", "\r", "\v", "\0", "\x1f", "\x7f", "\u00a0", "\u2003", "\u200b", "\ufeff")
_ZONES = (
    *(
        "",
        "",
        "",
        "Z",
        "Z",
        "Z",
        "z",
        "+00:00",
        "-00:00",
        "+14:00",
        "-12:00",
        "+18:00",
        "-18:00",
        "+18:01",
        "+19:00",
        "+23:59",
    ),
    *("+0100", "+01", "+1:00", "+01:60", " Z", "UTC", " UTC", "GMT", "Europe/Zurich", "+01:00:30", "ZZ"),
)
_OTHERS = """
true false TRUE False tRuE t f T y yes no on off 1 0 nan NaN NAN -nan inf Inf INF -inf +inf infinity Infinity null NULL
None epoch now today tomorrow - + . e E 1e 1e+ +-1 -+1 --1 0x 0xg 0b1 0o7 ,1 1, 1,000 1_ _1 % 1% $1 ½ ² ٣ １ 一 １２
1d 1D 1f 1F 1l 1L 1.d .f 0x1p3 0x1.8p1 1p3 1e1e1 1.1.1 1/2
"""


def value_texts(rng: Random, count: int) -> list[str]:
    """Return different texts without empty ones, in a random order."""
    texts = set[str]()
    kinds = (_integer, _decimal, _decimal, _float, _date, _time, _time, _other)
    while len(texts) < count:
        text = rng.choice(kinds)(rng)
        texts.add(_changed(rng, text) if rng.random() < 0.3 else text)
        texts.discard("")
    return rng.sample(sorted(texts), len(texts))


def _integer(rng: Random) -> str:
    edge = rng.choice([2 ** rng.choice(_POWERS), 10 ** rng.randrange(40), rng.getrandbits(rng.randrange(1, 130))])
    return f"{rng.choice(['', '', '', '-', '+'])}{'0' * rng.choice([0, 0, 0, 1, 3, 40])}{edge + rng.randrange(-2, 3)}"


def _decimal(rng: Random) -> str:
    """Return a number with about as many digits before and after the point as a DECIMAL can have."""
    scale = rng.choice(_SCALES)
    before = max(0, rng.choice([0, 1, 38 - scale, 38, rng.randrange(40)]) + rng.randrange(-1, 2))
    after = max(0, rng.choice([0, scale, scale, 38]) + rng.randrange(-1, 3))
    digits = rng.choice([lambda: "9", lambda: "0", lambda: rng.choice("0123456789")])
    whole = "".join(digits() for _ in range(before))
    whole = whole if rng.random() < 0.3 else whole.replace("0", "1", 1)
    decimals = "".join(digits() for _ in range(after))
    if rng.random() < 0.3:
        decimals += "0" * rng.randrange(1, 30)
    point = "." if after or rng.random() < 0.1 else ""
    return f"{rng.choice(['', '', '', '-', '+'])}{whole}{point}{decimals}" or "0"


def _float(rng: Random) -> str:
    """Return a number that is a FLOAT or a DOUBLE, is exactly between two of them, or differs from that a little."""
    form, width = rng.choice([("f", 4), ("d", 8)])
    bits = (
        rng.getrandbits(8 * width - 1) if rng.random() < 0.7 else rng.choice([0, 1, 2, 0x7F7FFFFF, 0x7FEFFFFFFFFFFFFF])
    )
    bits %= 0x7F800000 if width == 4 else 0x7FF0000000000000
    one, other = (Decimal(_of_bits(form, b)) for b in (bits, max(bits - 1, 0)))
    exact = rng.choice([one, _EXACT.divide(_EXACT.add(one, other), Decimal(2))])
    digits = rng.choice([1200, 1200, 60, 40, 30, 25, 20, 19, 18, 17, 16, 9, 8, 7])
    value = Context(prec=digits).plus(exact)
    if rng.random() < 0.3 and value:
        value = rng.choice([value.next_plus, value.next_minus])(Context(prec=len(value.as_tuple().digits) + 1))
    value = -value if rng.random() < 0.3 else value
    return f"{value:f}" if rng.random() < 0.6 and -60 < value.adjusted() < 60 else str(value)


def _of_bits(form: str, bits: int) -> float:
    return float(struct.unpack(f"<{form}", bits.to_bytes(struct.calcsize(form), "little"))[0])


def _date(rng: Random) -> str:
    year = rng.choice([0, 1, 2, 999, 1582, 1899, 1900, 1969, 1970, 2000, 2023, 2024, 2100, 9999, 9999, 10000, 292278])
    month, day = rng.choice([0, 1, 1, 2, 2, 10, 12, 12, 12, 13]), rng.choice([0, 1, 1, 15, 28, 28, 29, 30, 31, 31, 32])
    mark = rng.choice("-----------/.")
    return f"{year:0{rng.choice([4, 4, 4, 4, 4, 4, 1, 5])}}{mark}{month:02}{mark}{day:02}"


def _time(rng: Random) -> str:
    hour, minute, second = (rng.choice([0, 0, 1, last, last, last, last + 1]) for last in (23, 59, 59))
    clock = [f"{hour:02}:{minute:02}:{second:02}"] * 8 + [f"{hour:02}:{minute:02}", f"{hour:02}", f"{hour}:0:0"]
    fraction = "".join(rng.choice(rng.choice(["0", "9", "0123456789"])) for _ in range(rng.randrange(12)))
    point = rng.choice(".......,") if fraction or rng.random() < 0.1 else ""
    date = _date(rng) if rng.random() < 0.3 else rng.choice(["0001-01-01", "9999-12-31", "1969-12-31", "2024-02-29"])
    return f"{date}{rng.choice('TTTTTt _')}{rng.choice(clock)}{point}{fraction}{rng.choice(_ZONES)}"


def _other(rng: Random) -> str:
    return rng.choice(_OTHERS.split())


def _changed(rng: Random, text: str) -> str:
    """Return a text with something that some readers ignore, or with one character more, less or other."""
    at = rng.randrange(len(text))
    return rng.choice(
        [
            rng.choice(_BLANKS) + text,
            text + rng.choice(_BLANKS),
            rng.choice("+-") + text,
            f"{text}{rng.choice('eE')}{rng.choice(['', '+', '-'])}{rng.choice([0, 1, 2, 3, 18, 38, 39, 300, 400])}",
            text + rng.choice("dDfFlLxXZ%0.,"),
            text[:at] + rng.choice("_ ,'") + text[at:],
            "".join(_DIGITS.get(c, c) for c in text) if rng.random() < 0.5 else text.replace("-", "\u2212"),
            text[:at] + text[at + 1 :],
            text[:at] + rng.choice("0123456789+-.eExTZ: ") + text[at + 1 :],
            text + "0" * rng.choice([20, 100, 3000]),
            text.swapcase(),
        ]
    )


_DIGITS = dict(zip("0123456789", "٠١٢٣٤٥٦٧٨٩", strict=True))

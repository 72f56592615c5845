"""Random changes of valid files: of their bytes, their lines, their values, and of the archives around them."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeAlias

Mutation: TypeAlias = Callable[[Random, bytes], bytes]

TEXTS = (
    "", " ", "\0", "\ufeff", "\u202e", "\u2028", "e\u0301", "\U0001f600", "İ", "\ufffe", "\x07", "\x85", "'", '"', "`",
    "\\", "${{ env.X }}", "%s{0}", "*a", "&a", "!!python/object:os.system", "<<", "~", "../../x", "/etc/passwd", "$ref",
    "#/", "9" * 5000, "a" * 100_000, "-0", "NaN", "1e999", "1e999999999", "0x1F", "2024-02-30", "10000-01-01T00:00:00Z",
    "1_000", "1:30:00", "P1Y", "(a+)+$", "[", "((",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2**31, -(2**31) - 1, 2**63, 2**64, 10**400, -(10**400), 1e308, 1e-320, float("inf"), float("nan"))
_EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_TOKENS = (
    b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n\n", b"\t", b",", b";", b'"', b'""', b"{", b"}",
    b"[", b"]", b":", b": ", b"- ", b"null", b"true", b"---\n", b"\x1f\x8b", b"PK\x03\x04", b"PAR1",
)  # fmt: skip


def flip(chance: Random, data: bytes) -> bytes:
    changed = bytearray(data or b"\0")
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def edge(chance: Random, data: bytes) -> bytes:
    """Put a number at the edge of its range somewhere."""
    form = chance.choice(("<B", "<H", ">H", "<I", ">I", "<Q"))
    number = struct.pack(form, chance.choice(_EDGES) & ((1 << 8 * struct.calcsize(form)) - 1))
    at = chance.randrange(len(data) + 1)
    return data[:at] + number + data[at + len(number) :]


def cut(chance: Random, data: bytes) -> bytes:
    """Leave out the end, the beginning or a part."""
    start, end = sorted((chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)))
    return chance.choice((data[:start], data[end:], data[:start] + data[end:]))


def insert(chance: Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    piece = chance.choice(
        (chance.choice(_TOKENS), chance.choice(TEXTS).encode(), chance.randbytes(chance.randrange(1, 40)))
    )
    return data[:at] + piece * (1 if len(piece) > 100 else chance.choice((1, 1, 1, 2, 1000))) + data[at:]


def repeat(chance: Random, data: bytes) -> bytes:
    start, end = sorted((chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)))
    return data[:end] + data[start:end] * chance.choice((1, 1, 30)) + data[end:]


def line(chance: Random, data: bytes) -> bytes:
    """Leave out, repeat, move, indent or exchange a line."""
    lines = data.splitlines(keepends=True) or [b""]
    at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
    moved = chance.choice((b"", lines[at] * 2, b"  " + lines[at], lines[at].lstrip(), lines[to], b"\t" + lines[at]))
    return b"".join([*lines[:at], moved, *lines[at + 1 :]])


def deep(chance: Random, data: bytes) -> bytes:
    """Put deep nesting somewhere, closed or not."""
    depth = chance.choice((50, 99, 101, 1000, 50_000))
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"{a: ", b"}"), (b"- ", b""), (b"? ", b"")))
    at = chance.choice([i for i, byte in enumerate(data) if byte in b":,\n[{"] or [0]) + 1
    return data[:at] + opening * depth + b"1" + closing * chance.choice((0, depth, depth - 1)) + data[at:]


def values(parse: Callable[[bytes], Any]) -> Mutation:
    """Return the mutation of one or two values of a document: of another type or size, without or twice, renamed."""

    def change(chance: Random, data: bytes) -> bytes:
        if b"&" in data:
            raise ValueError("values that JSON would repeat without end")
        document = parse(data)
        doubled = dict[str, None]()
        for _ in range(chance.choice((1, 1, 2))):
            _change_one(chance, document, doubled)
        text = json.dumps(document, ensure_ascii=chance.random() < 0.5)
        for key in doubled:  # JSON has no way to say it, its text has
            text = text.replace(f"{json.dumps(key)}: ", f"{json.dumps(key)}: 1, {json.dumps(key)}: ", 1)
        return text.encode(errors="surrogatepass")

    return change


def _change_one(chance: Random, document: Any, doubled: dict[str, None]) -> None:
    containers = [*_containers(document)]
    if not containers:
        return
    inside = chance.choice(containers)
    key = chance.choice([*inside]) if isinstance(inside, dict) else chance.randrange(len(inside))
    fault = chance.randrange(8)
    if fault == 0:
        del inside[key]
    elif fault == 1 and isinstance(inside, dict):
        inside[chance.choice((key.upper(), key + "x", *TEXTS))] = inside.pop(key)
    elif fault == 2 and isinstance(inside, dict):
        doubled[key] = None
    elif fault == 3 and isinstance(inside, list):
        inside[key:key] = [inside[key]] * chance.choice((1, 1, 500))
    elif fault == 4:
        inside[key] = chance.choice(containers)[:] if isinstance(containers[-1], list) else [inside[key]]
    else:
        inside[key] = chance.choice((None, True, [], {}, [None], {"kind": "x"}, _nested(chance), *NUMBERS, *TEXTS))


def _containers(value: Any) -> Any:
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


def _nested(chance: Random) -> Any:
    value: Any = 1
    for _ in range(chance.choice((20, 99, 101, 300))):
        value = [value] if chance.random() < 0.5 else {"a": value}
    return value


def aliases(chance: Random, data: bytes) -> bytes:
    """Put anchors and aliases of YAML before a document or at one of its values: bombs, circles, unknown names."""
    bomb = (
        "a: &a ["
        + "x," * 9
        + "]\n"
        + "".join(f"{x}: &{x} [{f'*{y},' * 9}]\n" for y, x in zip("abcdefgh", "bcdefghi", strict=True))
    )
    if chance.random() < 0.3:
        return bomb.encode() + data
    circle = chance.choice(
        (
            b" &z [*z]",
            b" &z {a: *z}",
            b" *nothing",
            b" &a b",
            b" !!binary x",
            b" !!set {a, b}",
            b" !x y",
            b" {<<: *z}",
            b" {<<: 1}",
        )
    )
    colons = [i for i in range(len(data)) if data.startswith(b":", i)] or [len(data) - 1]
    at = chance.choice(colons) + 1
    end = data.find(b"\n", at)
    return data[:at] + circle + (data[end:] if chance.random() < 0.7 and end >= 0 else data[at:])


BYTES: Sequence[Mutation] = (flip, flip, edge, edge, cut, insert, repeat)
TEXT: Sequence[Mutation] = (flip, cut, insert, insert, repeat, line, line, deep)


# --- archives -------------------------------------------------------------------------------------------------------


NAMES = (
    "../escape", "../../escape", "/tmp/odf-escape", "..\\escape", "C:\\escape", "a/../../escape", "./x", "", ".", "x/",
    "a" * 300, "\0x", "\u202ex", "__MACOSX/x", "con", "x" * 60_000,
)  # fmt: skip


def archive(chance: Random, data: bytes) -> bytes:
    """Write a zip anew with entries that escape, repeat, link, expand, or are damaged inside."""
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        files = [(entry.filename, opened.read(entry)) for entry in opened.infolist()]
    packed, fault = io.BytesIO(), chance.randrange(6)
    with zipfile.ZipFile(packed, "w", chance.choice((0, 8, 12, 14)), compresslevel=1) as opened:
        for name, content in files:
            inside = chance.choice(BYTES)(chance, content) if fault < 3 and chance.random() < 0.5 else content
            entry = zipfile.ZipInfo(
                name if fault != 3 else chance.choice((name, chance.choice(NAMES))).replace("\0", "") or "_"
            )
            entry.compress_type = opened.compression
            entry.external_attr = (0o120777 << 16) if fault == 4 and chance.random() < 0.5 else 0
            opened.writestr(
                entry, bytes(chance.choice((1 << 20, 40 << 20))) if fault == 5 and chance.random() < 0.2 else inside
            )
        if chance.random() < 0.1:
            opened.comment = b"PK\x05\x06" * 20
    return packed.getvalue() if chance.random() < 0.7 else chance.choice(BYTES)(chance, packed.getvalue())


def gzipped(chance: Random, data: bytes) -> bytes:
    """Write a gzip anew: of several members, with other content, a bomb, or text after its end."""
    content = gzip.decompress(data)
    packed = gzip.compress(content, 1)
    return chance.choice((
        packed * chance.choice((2, 50)),
        packed + chance.choice((b"\0" * 9, b"more", b"\x1f\x8b")),
        gzip.compress(bytes(40 << 20), 9) if chance.random() < 0.1 else gzip.compress(packed, 1),
        gzip.compress(chance.choice(TEXT)(chance, content), 1),
    ))  # fmt: skip

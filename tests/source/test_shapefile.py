"""Shapefiles as lines of Features."""

from __future__ import annotations

import datetime as dt
import io
import json
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import shapefile as pyshp

from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.source import shapefile
from airflow_provider_odf.source.options import Options

from .archives import zipped

LABEL = "https://example.com/data.zip"
Draw = Callable[[pyshp.Writer], None]
Parts = dict[str, bytes]


def parts(*draw: Draw, kind: int = pyshp.POINT, fields: Sequence[tuple[Any, ...]] = (("name", "C", 10),)) -> Parts:
    """The files of a shapefile, each of ``draw`` adding one record or none."""
    files = {suffix: io.BytesIO() for suffix in (".shp", ".shx", ".dbf")}
    with pyshp.Writer(
        shp=files[".shp"], shx=files[".shx"], dbf=files[".dbf"], shapeType=kind, encoding="latin-1"
    ) as writer:
        for field in fields:
            writer.field(*field)
        for one in draw:
            one(writer)
    return {suffix: file.getvalue() for suffix, file in files.items()}


def point(*values: object, x: float = 1.0, y: float = 2.0) -> Draw:
    def draw(writer: pyshp.Writer) -> None:
        writer.point(x, y)
        writer.record(*values)

    return draw


def shape(method: str, *coordinates: object) -> Draw:
    def draw(writer: pyshp.Writer) -> None:
        getattr(writer, method)(*coordinates)
        writer.record("x")

    return draw


def named(name: str, files: Parts) -> Parts:
    return {f"{name}{suffix}": content for suffix, content in files.items()}


@dataclass(frozen=True)
class Result:
    features: list[Any]
    columns: dict[str, str]
    notices: tuple[str, ...]

    @property
    def properties(self) -> list[Any]:
        return [f["properties"] for f in self.features]

    @property
    def geometries(self) -> list[Any]:
        return [f["geometry"] for f in self.features]


@pytest.fixture
def convert(tmp_path: Path) -> Iterator[Callable[..., Result]]:
    """Converts the bytes of a zip; whatever comes of it, nothing but the features is left."""

    def of(content: bytes | Parts, sub_path: str | None = None, options: Options = Options()) -> Result:  # noqa: B008
        archive, target = tmp_path / "data", tmp_path / "work" / "features"
        archive.write_bytes(content if isinstance(content, bytes) else zipped(named("roads", content)))
        found = shapefile.convert(archive, target, sub_path, LABEL, options, lambda _: None)
        features = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
        assert all(f["type"] == "Feature" for f in features)
        return Result(features, {c.name: c.type for c in found.columns}, found.notices)

    yield of
    assert not list(tmp_path.glob("work/*-parts"))


@pytest.fixture
def refusal_of(convert: Callable[..., Result]) -> Callable[..., str]:
    def of(content: bytes | Parts, sub_path: str | None = None, **options: Any) -> str:
        with pytest.raises(SourceError) as raised:
            convert(content, sub_path, Options(**options))
        message = str(raised.value)
        assert message.startswith(f"{LABEL}: ")
        return message.removeprefix(f"{LABEL}: ")

    return of


RING = [[0, 0], [0, 10], [10, 10], [10, 0], [0, 0]]
HOLE = [[2, 2], [4, 2], [4, 4], [2, 4], [2, 2]]
FAR = [[20, 0], [20, 10], [30, 10], [30, 0], [20, 0]]
FAR_HOLE = [[22, 2], [24, 2], [24, 4], [22, 4], [22, 2]]


@pytest.mark.parametrize(
    ("kind", "method", "coordinates", "geometry"),
    [
        (pyshp.POINT, "point", (1, 2.5), {"type": "Point", "coordinates": [1, 2.5]}),
        (pyshp.POINTM, "pointm", (1, 2, 9), {"type": "Point", "coordinates": [1, 2]}),
        (pyshp.POINTZ, "pointz", (1, 2, 3, 9), {"type": "Point", "coordinates": [1, 2, 3]}),
        (pyshp.MULTIPOINT, "multipoint", ([[1, 2], [3, 4]],), {"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]}),
        (
            pyshp.POLYLINE,
            "line",
            ([[[1, 2], [3, 4]]],),
            {"type": "MultiLineString", "coordinates": [[[1, 2], [3, 4]]]},
        ),
        (
            pyshp.POLYLINEZ,
            "linez",
            ([[[1, 2, 5], [3, 4, 6]], [[0, 0, 7], [1, 1, 8]]],),
            {"type": "MultiLineString", "coordinates": [[[1, 2, 5], [3, 4, 6]], [[0, 0, 7], [1, 1, 8]]]},
        ),
        (pyshp.POLYGON, "poly", ([RING],), {"type": "MultiPolygon", "coordinates": [[RING]]}),
        (pyshp.POLYGON, "poly", ([RING, HOLE],), {"type": "MultiPolygon", "coordinates": [[RING, HOLE]]}),
        (
            pyshp.POLYGON,
            "poly",
            ([RING, FAR, FAR_HOLE, HOLE],),
            {"type": "MultiPolygon", "coordinates": [[RING, HOLE], [FAR, FAR_HOLE]]},
        ),
        (
            pyshp.POLYGONZ,
            "polyz",
            ([[[x, y, 7] for x, y in RING], [[x, y, 7] for x, y in FAR]],),
            {
                "type": "MultiPolygon",
                "coordinates": [[[[x, y, 7] for x, y in RING]], [[[x, y, 7] for x, y in FAR]]],
            },
        ),
        (pyshp.POLYGON, "null", (), None),
    ],
)
def test_geometries(convert, kind: int, method: str, coordinates: tuple[object, ...], geometry: object) -> None:
    assert convert(parts(shape(method, *coordinates), kind=kind)).geometries == [geometry]


FIELDS = (
    ("name", "C", 6),
    ("count", "N", 10, 0),
    ("big", "N", 20, 0),
    ("area", "N", 12, 3),
    ("ratio", "F", 12, 4),
    ("seen", "D"),
    ("open", "L"),
)


def test_columns_have_the_types_of_the_table(convert) -> None:
    content = parts(
        point("Ä b", 7, 12345678901234567890, 1.5, 0.25, dt.date(2024, 5, 1), True),
        point("", None, None, None, None, None, None),
        fields=FIELDS,
    )
    found = convert(content)
    assert found.columns == {
        "area": "DOUBLE",
        "big": "DECIMAL(20,0)",
        "count": "BIGINT",
        "geometry": "STRING",
        "name": "STRING",
        "open": "BOOLEAN",
        "ratio": "DOUBLE",
        "seen": "DATE",
    }
    assert found.properties == [
        {
            "name": "Ä b",
            "count": 7,
            "big": 12345678901234567890,
            "area": 1.5,
            "ratio": 0.25,
            "seen": "2024-05-01",
            "open": True,
        },
        dict.fromkeys(("name", "count", "big", "area", "ratio", "seen", "open")),
    ]


def raw(field: tuple[Any, ...], value: bytes) -> Parts:
    """A shapefile of one record whose value is as given."""
    files = parts(point("" if field[1] == "C" else None), fields=[field])
    dbf = bytearray(files[".dbf"])
    dbf[-len(value) :] = value
    return {**files, ".dbf": bytes(dbf)}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("N", b"     007", 7),
        ("N", b"     -.5", -0.5),
        ("N", b"   +3.e1", 30),
        ("N", b"1.0E-002", 0.01),
        ("N", b"********", None),
        ("N", b"\0       ", None),
        ("N", b"     1,5", "1,5"),
        ("N", b"       -", "-"),
        ("N", b"     nan", "nan"),
        ("D", b"00000000", None),
        ("D", b"20240230", "2024-02-30"),
        ("D", b"2024 5 1", "2024 5 1"),
        ("L", b"?", None),
        ("L", b"n", False),
        ("L", b"x", "x"),
        ("C", b" a\0bcdef", " a"),
        ("C", b"M\xc3\xbc     ", "Mü"),
        ("C", b"abcdefg\xc3", "abcdefg"),
    ],
)
def test_values(convert, kind: str, value: bytes, expected: object) -> None:
    assert convert(raw(("v", kind, len(value), 0), value)).properties == [{"v": expected}]


def test_deleted_records_are_left_out(convert) -> None:
    files = parts(point("a", x=1), point("b", x=2), point("c", x=3))
    dbf = bytearray(files[".dbf"])
    dbf[-2 * 11] = ord("*")
    found = convert({**files, ".dbf": bytes(dbf)})
    assert [f["name"] for f in found.properties] == ["a", "c"]
    assert [g["coordinates"][0] for g in found.geometries] == [1, 3]


@pytest.mark.parametrize(
    ("value", "more", "expected"),
    [
        (b"\xe9", {".cpg": b"ISO-8859-1\r\n"}, "é"),
        (b"\xe9", {".cst": b"ISO-8859-1"}, "é"),
        (b"\xc3\xa9", {".cpg": b"UTF-8"}, "é"),
        (b"\xc3\xa9", {".cpg": b"65001"}, "é"),
        (b"\xe9", {".cpg": b"ANSI 1251"}, "й"),
        (b"\xe9", {".cpg": b"1251"}, "й"),
        (b"\xe9", {".cpg": b"88595"}, "щ"),
        (b"\xe9", {".cpg": b"ISO 8859-5"}, "щ"),
        (b"\x82\xa0", {".cpg": b"Shift_JIS"}, "あ"),
    ],
)
def test_encodings(convert, value: bytes, more: Parts, expected: str) -> None:
    found = convert({**raw(("v", "C", 4), value.ljust(4)), **more})
    assert (found.properties, found.notices) == ([{"v": expected}], ())


def test_the_table_may_name_its_encoding(convert) -> None:
    files = raw(("v", "C", 1), b"\xe9")
    dbf = bytearray(files[".dbf"])
    dbf[29] = 0xC9
    assert convert({**files, ".dbf": bytes(dbf)}).properties == [{"v": "й"}]


def test_texts_of_no_known_encoding(convert, refusal_of) -> None:
    files = raw(("v", "C", 4), b"\xe9  a")
    found = convert(files)
    assert found.properties == [{"v": "é  a"}]
    assert found.notices == (
        f"{LABEL}: the shapefile declares no encoding, and its strings are not UTF-8: reading them as ISO-8859-1",
    )
    assert refusal_of({**files, ".cpg": b"UTF-8"}) == (
        "the shapefile roads.shp: byte 0xe9 in a string is not utf-8, the encoding in the .cpg file"
    )
    assert refusal_of({**files, ".cpg": b"klingon"}) == (
        "the shapefile roads.shp: the .cpg file declares an unknown encoding: 'klingon'"
    )


A, B = parts(point("a")), parts(point("b"))
SEVERAL = zipped({**named("a/roads", A), **named("b/rails", B), "readme.txt": b"x", "__MACOSX/a/._roads.shp": b"x"})


@pytest.mark.parametrize(
    ("sub_path", "name"),
    [("a/roads.shp", "a"), ("./b/rails.shp", "b"), ("*/rails.*", "b"), ("b/*", "b"), ("*roads.shp", "a")],
)
def test_sub_path(convert, sub_path: str, name: str) -> None:
    assert convert(SEVERAL, sub_path).properties == [{"name": name}]


def test_suffixes_match_ignoring_case(convert) -> None:
    files = {"Roads.SHP": A[".shp"], "ROADS.shx": A[".shx"], "Roads.Dbf": A[".dbf"], "roads.dbf": B[".dbf"]}
    assert convert(zipped(files)).properties == [{"name": "a"}]


@pytest.mark.parametrize(
    ("content", "sub_path", "message"),
    [
        (SEVERAL, None, "the zip file has several shapefiles, choose one by subPath: a/roads.shp, b/rails.shp"),
        (SEVERAL, "*.shp", "the zip file has several shapefiles, choose one by subPath: a/roads.shp, b/rails.shp"),
        (SEVERAL, "roads.shp", "the zip file has no shapefile roads.shp; it has a/roads.shp, b/rails.shp"),
        (SEVERAL, "readme.txt", "the zip file has no shapefile readme.txt; it has a/roads.shp, b/rails.shp"),
        (zipped({"readme.txt": b"x"}), None, "the zip file has no .shp file; it has only readme.txt"),
        (zipped({}), None, "the zip file has no .shp file; it has only nothing"),
        (
            A[".shp"],
            None,
            "not a zip file, or truncated (File is not a zip file): provide a zip with the .shp, .shx, .dbf "
            "files of the shapefile",
        ),
        (
            SEVERAL[:-30],
            None,
            "not a zip file, or truncated (File is not a zip file): provide a zip with the .shp, .shx, .dbf "
            "files of the shapefile",
        ),
        (
            zipped({**named("x", A), "../../etc/passwd": b"x"}),
            None,
            "the zip file has an entry with an unsafe name: '../../etc/passwd'",
        ),
        (
            zipped({"x.shp": A[".shp"]}),
            None,
            "the shapefile x.shp in the zip file lacks its .shx and .dbf file",
        ),
    ],
)
def test_zip_refused(refusal_of, content: bytes, sub_path: str | None, message: str) -> None:
    assert refusal_of(content, sub_path) == message


@pytest.mark.parametrize("part", [".shx", ".dbf"])
def test_a_lacking_part(refusal_of, part: str) -> None:
    files = {suffix: content for suffix, content in A.items() if suffix != part}
    assert refusal_of(files) == f"the shapefile roads.shp in the zip file lacks its {part} file"


def test_decompression_bombs(refusal_of) -> None:
    bomb = {**A, ".shp": A[".shp"] + bytes(4 << 20)}
    assert refusal_of(bomb, ratio_free=1 << 20) == (
        "decompresses to more than 250 times its size: refused as a decompression bomb"
    )
    assert refusal_of(A, largest_file=50) == (
        "decompresses to more than 50 bytes, the limit for decompressed files: increase largest_file, or split the file"
    )


def patched(content: bytes, at: int, form: str, *values: object) -> bytes:
    data = bytearray(content)
    struct.pack_into(form, data, at, *values)
    return bytes(data)


ONE = parts(shape("line", [[[1, 2], [3, 4]]]), kind=pyshp.POLYLINE)
MULTIPATCH = parts(
    shape("multipatch", [[[0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0]]], [pyshp.OUTER_RING]), kind=pyshp.MULTIPATCH
)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({**ONE, ".shp": ONE[".shp"][:-8]}, "the .shp file is truncated: 180 of 188 bytes"),
        ({**ONE, ".shp": b"PK"}, "the .shp file is not part of a shapefile"),
        ({**ONE, ".shx": ONE[".shx"][:-1]}, "the .shx file is truncated: 107 of 108 bytes"),
        ({**ONE, ".shx": bytes(100)}, "the .shx file is not part of a shapefile"),
        ({**ONE, ".dbf": ONE[".dbf"][:-3]}, "the .dbf file is truncated: it is too short for its 1 record"),
        ({**ONE, ".dbf": b"\x03"}, "the .dbf file is truncated"),
        ({**ONE, ".dbf": patched(ONE[".dbf"], 10, "<H", 5)}, "the .dbf file has a damaged header: its records are "),
        ({**ONE, ".dbf": patched(ONE[".dbf"], 32 + 11, "c", b"T")}, "column name has type b'T': only C, D, F, "),
        ({**ONE, ".dbf": parts(point("a"), point("b"))[".dbf"]}, "the .shx file has 1 record and the .dbf file 2"),
        ({**ONE, ".shx": patched(ONE[".shx"], 100, ">i", 9999)}, "record 1: its shape is beyond the end of the .shp"),
        ({**ONE, ".shp": patched(ONE[".shp"], 108, "<i", 77)}, "record 1: its shape is damaged: 77"),
        ({**ONE, ".shp": patched(ONE[".shp"], 148, "<i", 1 << 30)}, "record 1: its shape is damaged: "),
        (
            {**ONE, ".shp": patched(ONE[".shp"], 156, "<d", float("nan"))},
            "record 1: its shape is damaged: Out of range",
        ),
        (MULTIPATCH, "record 1: GeoJSON does not support a MULTIPATCH"),
        (parts(point(1), fields=[("GEOMETRY", "N", 4)]), "column GEOMETRY has the name of the geometry column"),
        (parts(point(1, 2), fields=[("a", "N", 4), ("A", "N", 4)]), "the .dbf file names the column A twice"),
    ],
)
def test_damaged(refusal_of, files: Parts, message: str) -> None:
    assert refusal_of(files).startswith(f"the shapefile roads.shp: {message}")


def test_bytes_after_the_end_do_no_harm(convert) -> None:
    assert len(convert({**ONE, ".shp": ONE[".shp"] + b"junk"}).features) == 1


def test_a_table_without_records(convert) -> None:
    found = convert(parts())
    assert (found.features, found.columns) == ([], {"geometry": "STRING", "name": "STRING"})


def test_a_zip_with_a_damaged_name(refusal_of) -> None:
    damaged = zipped({"é.shp": b""}).replace("é".encode(), b"\xff\xff")
    assert refusal_of(damaged) == (
        "not a zip file, or truncated (a name in it is not UTF-8): provide a zip with the .shp, .shx, .dbf "
        "files of the shapefile"
    )

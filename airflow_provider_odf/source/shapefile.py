"""ReadStep::EsriShapefile of the specification: convert a zipped shapefile to lines of GeoJSON Features.

One record is in memory at a time. Coordinates are not converted to another reference system. Polygons become
MultiPolygons and lines MultiLineStrings, so that a column has one type. Heights are kept, measures dropped, since
GeoJSON has none. The encoding of texts is that of the ``.cpg`` (or GeoServer's ``.cst``) file, else that in the table's
header, else UTF-8, else ISO-8859-1.
"""

from __future__ import annotations

import fnmatch
import json
import shutil
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO

from airflow_provider_odf.error_conversion import system_error
from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.protocol import Column
from airflow_provider_odf.source import dbf, decompress
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from shapefile import Shape, ShpReader

    from airflow_provider_odf.source.options import Options

GEOMETRY = Column("geometry", "STRING")
SHAPE, INDEX, TABLE = REQUIRED = (".shp", ".shx", ".dbf")
ENCODINGS = (".cpg", ".cst")

_MAGIC = 9994
_HEADER = struct.Struct(">i20xi")
_HEADER_SIZE = 100
_INDEX_ENTRY = struct.Struct(">ii")
_INDEX_BLOCK = 4096 * _INDEX_ENTRY.size
_WORD = 2
_RECORD_HEADER = 8
_MULTIPLE = {"LineString": "MultiLineString", "Polygon": "MultiPolygon"}


@dataclass(frozen=True)
class Converted:
    """Result of a conversion. ``columns`` are those of the table and ``geometry``, sorted by name; ``notices`` are
    messages for the user."""

    columns: tuple[Column, ...]
    notices: tuple[str, ...] = ()


def convert(
    archive: Path, target: Path, sub_path: str | None, label: str, options: Options, tell: Callable[[str], None]
) -> Converted:
    """Write the records of the shapefile in a zip to ``target``, one Feature per line.

    :raises SourceError: the zip is damaged, encrypted, unsafe, exceeds a limit or has not exactly one matching
        shapefile; or the shapefile is incomplete, damaged, or has shapes that GeoJSON does not support.
    """
    names = _parts(archive, sub_path, label)
    directory = target.with_name(f"{target.name}-parts")
    directory.mkdir(parents=True)
    try:
        files = {
            part: decompress.unzip(archive, directory / part[1:], name, label, options, tell)[0]
            for part, name in names.items()
        }
        return _convert_files(files, target, label)
    except (dbf.DbfError, _ShapefileError) as e:
        raise SourceError(f"{label}: the shapefile {names[SHAPE]}: {e}") from None
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class _ShapefileError(Exception):
    """Why a shapefile cannot be read."""


def _parts(archive: Path, sub_path: str | None, label: str) -> dict[str, str]:
    """Return the names of the selected shapefile's files in the zip, by suffix."""
    try:
        with zipfile.ZipFile(archive) as opened:
            names = [entry.filename for entry in opened.infolist() if decompress.is_file(entry)]
    except (*decompress.ZIP_ERRORS, NotImplementedError) as e:
        if system_error(e) is not None:
            raise
        advice = f"provide a zip with the {', '.join(REQUIRED)} files of the shapefile"
        raise SourceError(f"{label}: not a zip file, or truncated ({decompress.zip_problem(e)}): {advice}") from None
    shape = _shape(sorted(name for name in names if not name.startswith("__MACOSX/")), sub_path, label)
    stem = shape[: -len(SHAPE)]
    # If names differ only by case, the last one wins, which is spelled like the shape's.
    parts = {
        _suffix(name): name
        for name in sorted(names, key=lambda name: name.startswith(stem))
        if name[: -len(SHAPE)].lower() == stem.lower() and _suffix(name) in (*REQUIRED, *ENCODINGS)
    }
    if missing := [part for part in REQUIRED if part not in parts]:
        raise SourceError(f"{label}: the shapefile {shape} in the zip file lacks its {' and '.join(missing)} file")
    return {**parts, SHAPE: shape}


def _shape(names: list[str], sub_path: str | None, label: str) -> str:
    shapes = [name for name in names if _suffix(name) == SHAPE]
    listed = ", ".join(shapes) or f"only {', '.join(names[:10]) or 'nothing'}"
    if sub_path is None:
        matches, wanted = shapes, ".shp file"
    else:
        exact = sub_path.removeprefix("./")
        matches = [exact] if exact in shapes else [name for name in shapes if fnmatch.fnmatchcase(name, exact)]
        wanted = f"shapefile {sub_path}"
    if not matches:
        raise SourceError(f"{label}: the zip file has no {wanted}; it has {listed}")
    if len(matches) > 1:
        raise SourceError(f"{label}: the zip file has several shapefiles, choose one by subPath: {', '.join(matches)}")
    return matches[0]


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _convert_files(files: dict[str, Path], target: Path, label: str) -> Converted:
    encoding, origin = _encoding(files)
    try:
        return Converted(_write(files, target, encoding))
    except UnicodeDecodeError as e:
        byte = e.object[e.start]
        if origin:
            raise _ShapefileError(
                f"byte 0x{byte:02x} in a string is not {encoding}, the encoding in {origin}"
            ) from None
    except UnicodeError as e:  # of encodings that are more than a table, such as Punycode
        raise _ShapefileError(f"a string is not {encoding}: {e}") from None
    return Converted(
        _write(files, target, "iso-8859-1"),
        (f"{label}: the shapefile declares no encoding, and its strings are not UTF-8: reading them as ISO-8859-1",),
    )


def _encoding(files: dict[str, Path]) -> tuple[str, str]:
    """Return the encoding of strings and the file that declares it; the latter is empty if none does."""
    for part in ENCODINGS:
        name = files[part].read_text("latin-1").strip() if part in files else ""
        if name:
            try:
                return dbf.parse_encoding(name), f"the {part} file"
            except (LookupError, ValueError):
                raise _ShapefileError(f"the {part} file declares an unknown encoding: {name[:40]!r}") from None
    encoding = dbf.encoding_of(files[TABLE])
    return (encoding, "the header of the .dbf file") if encoding else ("utf-8", "")


def _write(files: dict[str, Path], target: Path, encoding: str) -> tuple[Column, ...]:
    table = dbf.Table(files[TABLE], encoding)
    columns = table.columns
    if clash := [column.name for column in columns if column.name.lower() == GEOMETRY.name]:
        raise _ShapefileError(f"column {clash[0]} has the name of the geometry column: rename it")
    count = _count(files[INDEX])
    if count != table.count:
        raise _ShapefileError(f"the .shx file has {counted(count, 'record')} and the .dbf file {table.count}")
    with target.open("w", encoding="utf-8", newline="\n") as out:
        for properties, geometry in zip(table.records(), _geometries(files), strict=True):
            if properties is not None:
                out.write(f'{{"type":"Feature","properties":{properties},"geometry":{geometry()}}}\n')
    return tuple(sorted((*columns, GEOMETRY), key=lambda column: column.name))


def _count(index: Path) -> int:
    _check_part(index)
    return (index.stat().st_size - _HEADER_SIZE) // _INDEX_ENTRY.size


def _check_part(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(_HEADER_SIZE)
    if len(head) < _HEADER_SIZE or _HEADER.unpack_from(head)[0] != _MAGIC:
        raise _ShapefileError(f"the .{path.name[:3]} file is not part of a shapefile")
    size = int(_HEADER.unpack_from(head)[1]) * _WORD
    if size > path.stat().st_size:
        raise _ShapefileError(f"the .{path.name[:3]} file is truncated: {path.stat().st_size} of {size} bytes")


def _geometries(files: dict[str, Path]) -> Iterator[Callable[[], str]]:
    """Yield for each record a function that returns its geometry as JSON."""
    _check_part(files[SHAPE])
    size = files[SHAPE].stat().st_size
    with files[SHAPE].open("rb") as shapes:
        reader = _reader(shapes)
        for number, (offset, length) in enumerate(_places(files[INDEX]), 1):
            if offset < _HEADER_SIZE or length < 0 or offset + _RECORD_HEADER + length > size:
                raise _ShapefileError(f"record {number}: its shape is beyond the end of the .shp file")
            yield partial(_geometry, reader, number, offset, length)


def _reader(shapes: BinaryIO) -> ShpReader:
    from shapefile import PossiblyCorruptFileHeader, ShpReader

    with warnings.catch_warnings():
        # Bytes after the declared end are harmless.
        warnings.simplefilter("ignore", PossiblyCorruptFileHeader)
        return ShpReader(shapes)


def _places(index: Path) -> Iterator[tuple[int, int]]:
    """Yield the position of each record in the ``.shp`` file, and its length without header, in bytes."""
    with index.open("rb") as file:
        file.seek(_HEADER_SIZE)
        while block := file.read(_INDEX_BLOCK):
            whole = len(block) - len(block) % _INDEX_ENTRY.size
            for offset, length in _INDEX_ENTRY.iter_unpack(block[:whole]):
                yield offset * _WORD, length * _WORD


def _geometry(reader: ShpReader, number: int, offset: int, length: int) -> str:
    from shapefile import NULL, GeoJSON_Error, RingSamplingError, ShapefileException

    try:
        shape = reader.shape(number - 1, offset, length)
        if shape is None or shape.shapeType == NULL:
            return "null"
        return json.dumps(_geojson(shape), allow_nan=False, separators=(",", ":"))
    except GeoJSON_Error:
        raise _ShapefileError(f"record {number}: GeoJSON does not support a {shape.shapeTypeName}") from None
    except (struct.error, LookupError, ValueError, OverflowError, RingSamplingError, ShapefileException) as e:
        raise _ShapefileError(f"record {number}: its shape is damaged: {e}") from None


def _geojson(shape: Shape) -> dict[str, Any]:
    if hasattr(shape, "z"):
        shape.points = shape.points_3D
    geometry: dict[str, Any] = dict(shape.__geo_interface__)
    kind, coordinates = geometry["type"], geometry["coordinates"]
    if kind not in _MULTIPLE:
        return geometry
    return {"type": _MULTIPLE[kind], "coordinates": [coordinates] if coordinates else []}

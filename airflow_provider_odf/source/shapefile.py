"""ReadStep::EsriShapefile of the specification: a zipped shapefile becomes lines of GeoJSON Features.

One record is in memory at a time. Coordinates stay as they are in the file, whatever their reference system. Polygons
become MultiPolygons and lines MultiLineStrings, so that a column has one type; heights stay, measures have no place in
GeoJSON. Texts are of the encoding that the ``.cpg`` (or GeoServer's ``.cst``) file or the table itself names, else
UTF-8, and where they are not, ISO-8859-1.
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

from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.protocol import Column
from airflow_provider_odf.source import dbf, decompress
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from shapefile import Shape, ShpReader

    from airflow_provider_odf.source.options import Options

GEOMETRY = Column("geometry", "STRING")
SHAPE, INDEX, TABLE = NEEDED = (".shp", ".shx", ".dbf")
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
    """``columns`` are those of the table and ``geometry``, by name; ``notices`` what the user should know."""

    columns: tuple[Column, ...]
    notices: tuple[str, ...] = ()


def convert(
    archive: Path, target: Path, sub_path: str | None, label: str, options: Options, tell: Callable[[str], None]
) -> Converted:
    """Write the records of the shapefile in a zip to ``target``, a Feature a line.

    :raises SourceError: it is no zip, is damaged, encrypted, unsafe or unpacks to more than is allowed, has not exactly
        one shapefile that is meant, or a shapefile that lacks a part, is damaged, or cannot be said in GeoJSON.
    """
    names = _parts(archive, sub_path, label)
    directory = target.with_name(f"{target.name}-parts")
    directory.mkdir(parents=True)
    try:
        files = {
            part: decompress.unzip(archive, directory / part[1:], name, label, options, tell)[0]
            for part, name in names.items()
        }
        return _converted(files, target, label)
    except (dbf.Damaged, _Damaged) as e:
        raise SourceError(f"{label}: the shapefile {names[SHAPE]}: {e}") from None
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class _Damaged(Exception):
    """Why a shapefile cannot be read."""


def _parts(archive: Path, sub_path: str | None, label: str) -> dict[str, str]:
    """The names in the zip of the files of the shapefile that is meant, by their suffix."""
    try:
        with zipfile.ZipFile(archive) as opened:
            names = [entry.filename for entry in opened.infolist() if not entry.is_dir()]
    except (*decompress.DAMAGED, NotImplementedError) as e:
        needed = f"a shapefile is read from a zip with its {', '.join(NEEDED)} files"
        raise SourceError(f"{label}: not a zip file, or a cut one ({decompress.damage(e)}): {needed}") from None
    shape = _shape(sorted(name for name in names if not name.startswith("__MACOSX/")), sub_path, label)
    stem = shape[: -len(SHAPE)]
    # Of names that differ only by case, the one that is spelled as the shape's.
    found = {
        _suffix(name): name
        for name in sorted(names, key=lambda name: name.startswith(stem))
        if name[: -len(SHAPE)].lower() == stem.lower() and _suffix(name) in (*NEEDED, *ENCODINGS)
    }
    if missing := [part for part in NEEDED if part not in found]:
        raise SourceError(f"{label}: the shapefile {shape} in the zip file lacks its {' and '.join(missing)} file")
    return {**found, SHAPE: shape}


def _shape(names: list[str], sub_path: str | None, label: str) -> str:
    shapes = [name for name in names if _suffix(name) == SHAPE]
    listed = ", ".join(shapes) or f"only {', '.join(names[:10]) or 'nothing'}"
    if sub_path is None:
        fitting, wanted = shapes, ".shp file"
    else:
        exact = sub_path.removeprefix("./")
        fitting = [exact] if exact in shapes else [name for name in shapes if fnmatch.fnmatchcase(name, exact)]
        wanted = f"shapefile {sub_path}"
    if not fitting:
        raise SourceError(f"{label}: the zip file has no {wanted}; it has {listed}")
    if len(fitting) > 1:
        raise SourceError(f"{label}: the zip file has several shapefiles, choose one by subPath: {', '.join(fitting)}")
    return fitting[0]


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _converted(files: dict[str, Path], target: Path, label: str) -> Converted:
    encoding, said_by = _encoding(files)
    try:
        return Converted(_write(files, target, encoding))
    except UnicodeDecodeError as e:
        byte = e.object[e.start]
        if said_by:
            raise _Damaged(f"byte 0x{byte:02x} of a text is not {encoding}, which {said_by} says") from None
    return Converted(
        _write(files, target, "iso-8859-1"),
        (f"{label}: the shapefile does not say how its texts are encoded and they are not UTF-8: read as ISO-8859-1",),
    )


def _encoding(files: dict[str, Path]) -> tuple[str, str]:
    """The encoding of texts, and what says so, nothing where nothing does."""
    for part in ENCODINGS:
        said = files[part].read_text("latin-1").strip() if part in files else ""
        if said:
            try:
                return dbf.encoding_named(said), f"the {part} file"
            except LookupError:
                raise _Damaged(f"the {part} file names the encoding {said[:40]!r}, which is not known") from None
    named = dbf.encoding_of(files[TABLE])
    return (named, "the header of the .dbf file") if named else ("utf-8", "")


def _write(files: dict[str, Path], target: Path, encoding: str) -> tuple[Column, ...]:
    table = dbf.Table(files[TABLE], encoding)
    columns = table.columns
    if clash := [column.name for column in columns if column.name.lower() == GEOMETRY.name]:
        raise _Damaged(f"it has a column {clash[0]}, the name of the column of geometries")
    count = _count(files[INDEX])
    if count != table.count:
        raise _Damaged(f"the .shx file has {counted(count, 'record')} and the .dbf file {table.count}")
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
        raise _Damaged(f"the .{path.name[:3]} file is none of a shapefile")
    size = int(_HEADER.unpack_from(head)[1]) * _WORD
    if size > path.stat().st_size:
        raise _Damaged(f"the .{path.name[:3]} file is cut off: {path.stat().st_size} of {size} bytes")


def _geometries(files: dict[str, Path]) -> Iterator[Callable[[], str]]:
    """For each record how to get its geometry as JSON."""
    _check_part(files[SHAPE])
    size = files[SHAPE].stat().st_size
    with files[SHAPE].open("rb") as shapes:
        reader = _reader(shapes)
        for number, (offset, length) in enumerate(_places(files[INDEX]), 1):
            if offset < _HEADER_SIZE or length < 0 or offset + _RECORD_HEADER + length > size:
                raise _Damaged(f"record {number}: its shape is beyond the end of the .shp file")
            yield partial(_geometry, reader, number, offset, length)


def _reader(shapes: BinaryIO) -> ShpReader:
    from shapefile import PossiblyCorruptFileHeader, ShpReader

    with warnings.catch_warnings():
        # Bytes after the declared end do no harm.
        warnings.simplefilter("ignore", PossiblyCorruptFileHeader)
        return ShpReader(shapes)


def _places(index: Path) -> Iterator[tuple[int, int]]:
    """Where in the ``.shp`` file each record is, and its length without its header, in bytes."""
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
        raise _Damaged(f"record {number}: a {shape.shapeTypeName} cannot be said in GeoJSON") from None
    except (struct.error, LookupError, ValueError, OverflowError, RingSamplingError, ShapefileException) as e:
        raise _Damaged(f"record {number}: its shape is damaged: {e}") from None


def _geojson(shape: Shape) -> dict[str, Any]:
    if hasattr(shape, "z"):
        shape.points = shape.points_3D
    geometry: dict[str, Any] = dict(shape.__geo_interface__)
    kind, coordinates = geometry["type"], geometry["coordinates"]
    if kind not in _MULTIPLE:
        return geometry
    return {"type": _MULTIPLE[kind], "coordinates": [coordinates] if coordinates else []}

"""Read steps of Open Data Fabric, one row each, with what manifests and readers agree on. Standard library only.

``manifest/fragments.py`` has the options of a read step in a manifest. The reader also decides whether a large file may
be split.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType


class Types(Enum):
    """Source of the types of columns that are not declared."""

    TEXT = "all are text, or inferred from the rows with `inferSchema`"
    JSON = "inferred from the records"
    FILE = "the file has them"


@dataclass(frozen=True)
class Format:
    """Properties of a format."""

    reader: str
    """Module of ``engine/read/`` and its function that opens a file, see `engine.read.read.Reader`."""
    media_type: str
    suffixes: tuple[str, ...] = ()
    """Suffixes of file names, the likeliest first."""
    magic: bytes = b""
    """First bytes of every file."""
    types: Types = Types.JSON
    has_geometry: bool = False
    """Whether a record is a GeoJSON Feature with its geometry as text in the column ``geometry``."""
    empty: str | None = None
    """Content of a file without records, if the format needs more than 0 bytes."""
    converter: str | None = None
    """Module of ``source/`` whose ``convert`` writes a file as lines of GeoJSON Features, for the reader."""
    columnar: str | None = None
    """Module of ``engine/columnar/`` whose ``open_input`` reads a file without Spark where that gives the same rows."""


COMPRESSIONS = {"Gzip": b"\x1f\x8b", "Zip": b"PK\x03\x04"}
"""Compression format of a prepare step -> the first bytes of its files."""

READ_STEPS: Mapping[str, Format] = MappingProxyType({
    "Csv": Format(
        "csv.open_csv", "text/csv", (".csv",), types=Types.TEXT, empty="its header line", columnar="csv_input"
    ),
    "GeoJson": Format(
        "geo.open_geojson",
        "application/geo+json",
        (".geojson", ".json"),
        has_geometry=True,
        empty="a FeatureCollection",
    ),
    "EsriShapefile": Format(
        "geo.open_shapefile",
        "application/vnd.shp",
        magic=COMPRESSIONS["Zip"],
        has_geometry=True,
        converter="shapefile",
    ),
    "Parquet": Format(
        "parquet.ParquetFile",
        "application/vnd.apache.parquet",
        (".parquet",),
        b"PAR1",
        types=Types.FILE,
        empty="its footer",
        columnar="parquet_input",
    ),
    "Json": Format("json.open_json", "application/json", (".json",), empty="`[]`"),
    "NdJson": Format("json.open_ndjson", "application/x-ndjson", (".ndjson", ".jsonl", ".json", ".ndgeojson")),
    "NdGeoJson": Format(
        "geo.open_ndgeojson",
        "application/x-ndgeojson",
        (".ndgeojson", ".geojson", ".ndjson", ".jsonl", ".json"),
        has_geometry=True,
    ),
})  # fmt: skip
"""Kind of a read step -> its format, in the order of their numbers in metadata blocks."""

GEOMETRY = "geometry"
"""Column of the geometries of GeoJSON Features."""

NOT_IN_CSV_FORMAT = ("\0", "\r", "\n")
"""Characters that cannot be the separator, the quote or the escape character of CSV."""

RFC3339 = "rfc3339"
"""The one format of times that the specification names."""

POSIX_YEAR = re.compile("%y(?!y)")
"""Two-digit year in a pattern of Java, for 1969 to 2068 as in strftime. Java's ``yy`` is for 2000 to 2099."""

MAX_DEPTH = 50
"""Maximum nesting of lists and structs in a type. Arrow supports at most 64 levels."""

_JAVA_ENCODINGS = {
    "windows-31j": "cp932",
    "x-windows-949": "cp949",
    "x-windows-950": "cp950",
    "x-macroman": "mac-roman",
}


_OF_HOST_NAMES = ("idna", "punycode")


def python_encoding(name: str) -> str:
    """Return Python's name of an encoding, of which the registries of IANA and Java may have others.

    >>> python_encoding("Windows-31J")
    'cp932'

    :raises ValueError: the encoding is unknown, or does not encode text.
    """
    key = name.strip().lower() or "utf-8"
    try:
        codec = codecs.lookup(_JAVA_ENCODINGS.get(key, key)).name
        "".encode(codec)  # Python also has codecs that are not of text
    except (LookupError, ValueError):
        codec = ""
    if codec in ("", *_OF_HOST_NAMES):
        raise ValueError(f"unknown encoding {name!r}")
    return codec

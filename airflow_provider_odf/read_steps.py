"""The read steps of Open Data Fabric, one row each: what every ring needs to know of a format.

Standard library only. The options of a read step in a manifest are in ``manifest/fragments.py``; its reader, which also
decides whether a large file may be cut, is a row of ``engine/read/read.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType


class Types(Enum):
    """Where the types of columns come from that are not declared."""

    TEXT = "all are text, or inferred from the rows with `inferSchema`"
    JSON = "inferred from the records"
    FILE = "the file has them"


@dataclass(frozen=True)
class Format:
    """``empty`` is what a file without records has in a format that needs more than 0 bytes."""

    media_type: str
    types: Types = Types.JSON
    has_geometry: bool = False
    """Whether a record is a Feature of GeoJSON, whose column ``geometry`` is text."""
    empty: str | None = None


READ_STEPS: Mapping[str, Format] = MappingProxyType({
    "Csv": Format("text/csv", Types.TEXT, empty="its header line"),
    "GeoJson": Format("application/geo+json", has_geometry=True, empty="a FeatureCollection"),
    "EsriShapefile": Format("application/vnd.shp", has_geometry=True),
    "Parquet": Format("application/vnd.apache.parquet", Types.FILE, empty="its footer"),
    "Json": Format("application/json", empty="`[]`"),
    "NdJson": Format("application/x-ndjson"),
    "NdGeoJson": Format("application/x-ndgeojson", has_geometry=True),
})  # fmt: skip
"""Kind of a read step -> its format, in the order of their numbers in metadata blocks."""

"""Shapefiles become lines of GeoJSON Features before the engine sees them: it has no library that reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle.messages import InputFile, Progress
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.source import shapefile
from airflow_provider_odf.source.options import Options

if TYPE_CHECKING:
    from airflow_provider_odf.protocol import Column, ReadStep


@dataclass(frozen=True)
class Readable:
    """Inputs as the engine can read them."""

    read: ReadStep
    files: tuple[InputFile, ...]
    notices: tuple[str, ...] = ()


def readable(
    read: ReadStep,
    files: tuple[InputFile, ...],
    work: Path,
    progress: Progress,
    options: Options,
) -> Readable:
    """The same inputs, zipped shapefiles as files in ``work``. Without a schema, their columns are those that the first
    of them declares.

    :raises SourceError: a file is no zip with a shapefile that can be read.
    :raises InvalidInput: a column of the schema is not in a shapefile.
    """
    if read.kind != "EsriShapefile":
        return Readable(read, files)
    columns, converted, notices = read.columns, list[InputFile](), dict[str, None]()
    for index, file in enumerate(files):
        targets = [work / f"features-{index:05}-{part:05}.ndgeojson" for part, _ in enumerate(file.paths)]
        for path, target in zip(file.paths, targets, strict=True):
            found = shapefile.convert(Path(path), target, read.sub_path, file.label, options, progress)
            columns = columns or found.columns
            _expect(columns, found.columns, file.label)
            notices |= dict.fromkeys(found.notices)
        converted.append(dataclasses.replace(file, paths=tuple(map(str, targets))))
    return Readable(dataclasses.replace(read, columns=columns), tuple(converted), tuple(notices))


def _expect(columns: Sequence[Column], found: Sequence[Column], label: str) -> None:
    """:raises InvalidInput: a column that the schema has is not in the shapefile."""
    given = {column.name.lower() for column in found}
    if missing := [column.name for column in columns if column.name.lower() not in given]:
        names = ", ".join(column.name for column in found)
        raise InvalidInput(f"{label}: no column {', '.join(missing)} in the shapefile, which has {names}")

"""Convert shapefiles to lines of GeoJSON Features for the engine, which has no library that reads shapefiles."""

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
    """Return inputs with zipped shapefiles converted to files in ``work``. Without a schema, the first shapefile
    declares the columns.

    :raises SourceError: a file is not a zip with a valid shapefile.
    :raises InvalidInput: a column of the schema is not in a shapefile.
    """
    if read.kind != "EsriShapefile":
        return Readable(read, files)
    columns, converted, notices = read.columns, list[InputFile](), dict[str, None]()
    for index, file in enumerate(files):
        targets = [work / f"features-{index:05}-{part:05}.ndgeojson" for part, _ in enumerate(file.paths)]
        for path, target in zip(file.paths, targets, strict=True):
            result = shapefile.convert(Path(path), target, read.sub_path, file.label, options, progress)
            columns = columns or result.columns
            _check_columns(columns, result.columns, file.label)
            notices |= dict.fromkeys(result.notices)
        converted.append(dataclasses.replace(file, paths=tuple(map(str, targets))))
    return Readable(dataclasses.replace(read, columns=columns), tuple(converted), tuple(notices))


def _check_columns(columns: Sequence[Column], actual: Sequence[Column], label: str) -> None:
    """:raises InvalidInput: a column of the schema is not in the shapefile."""
    actual_names = {column.name.lower() for column in actual}
    if missing := [column.name for column in columns if column.name.lower() not in actual_names]:
        names = ", ".join(column.name for column in actual)
        raise InvalidInput(f"{label}: no column {', '.join(missing)} in the shapefile, which has {names}")

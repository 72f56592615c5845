"""Media types of pushed files: the format in which they are read if it is not the format of the source.

The schema and the formats of times are those of the source, as for records. Its options for files do not apply.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from email.message import Message
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.protocol import ReadStep
from airflow_provider_odf.read_steps import READ_STEPS

KINDS = {format_.media_type: kind for kind, format_ in READ_STEPS.items()}
"""Media types as the reference implementation names them, and the kinds of read steps for them."""

_JSON = ("Json", "NdJson", "GeoJson", "NdGeoJson")
_SUFFIXES = {
    ".csv": ("Csv",),
    ".json": _JSON,
    ".geojson": ("GeoJson", "NdGeoJson"),
    ".ndjson": ("NdJson", "NdGeoJson"),
    ".jsonl": ("NdJson", "NdGeoJson"),
    ".ndgeojson": ("NdGeoJson", "NdJson"),
    ".parquet": ("Parquet",),
}
"""Suffix of a file -> possible formats, the likeliest first."""

_HEADER = {"present": True, "absent": False}


def of_names(names: Sequence[str], kind: str) -> str | None:
    """Return the media type that the suffixes of paths and URIs show; None if a source of the kind reads such files.

    :raises InvalidInput: the suffixes differ.
    """
    suffixes = {PurePosixPath(urlsplit(name).path).suffix.lower() for name in names} & _SUFFIXES.keys()
    shown = {_SUFFIXES[suffix] for suffix in suffixes if kind not in _SUFFIXES[suffix]}
    if not shown:
        return None
    if len(suffixes) > 1:
        raise InvalidInput(
            f"one push cannot mix the suffixes {', '.join(sorted(suffixes))}: push these files separately"
        )
    likeliest = shown.pop()[0]
    return next(media_type for media_type, kind in KINDS.items() if kind == likeliest)


def read_as(step: ReadStep, media_type: str, label: str) -> ReadStep:
    """Return the read step for files of a media type.

    :raises InvalidInput: it is unknown, or CSV without a statement whether the first line is a header.
    """
    essence, header = _parse(media_type)
    _check(media_type, essence, header)
    kind = KINDS[essence]
    if kind == step.kind:
        return step if header is None else dataclasses.replace(step, header=_HEADER[header])
    if kind == "Csv" and header is None:
        raise InvalidInput(
            f"{label}: cannot tell whether the CSV has a header line, because the source reads {step.kind}: set the "
            "media type to 'text/csv; header=present' or 'text/csv; header=absent', or push to a source that reads Csv"
        )
    plain = ReadStep(kind, step.columns, date_format=step.date_format, timestamp_format=step.timestamp_format)
    read = dataclasses.replace(plain, known_columns=step.known_columns)
    return read if header is None else dataclasses.replace(read, header=_HEADER[header])


def _check(media_type: str, essence: str, header: str | None) -> None:
    if essence not in KINDS:
        raise InvalidInput(f"media type {media_type!r} is not known: use one of {', '.join(KINDS)}")
    if header is not None and (essence != "text/csv" or header not in _HEADER):
        raise InvalidInput(
            f"media type {media_type!r}: header must be present or absent, and is allowed only with text/csv"
        )


def _parse(media_type: str) -> tuple[str, str | None]:
    """Return the type without its parameters, and the parameter ``header``."""
    message = Message()
    message["Content-Type"] = media_type
    header = message.get_param("header")
    return message.get_content_type() if "/" in media_type else "", header.lower() if isinstance(header, str) else None

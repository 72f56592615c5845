"""The source of an input, how its files are read, and how far the source was read.

Pushed files may have a media type: the format in which they are read if it is not the format of the source. The schema
and the formats of times are those of the source, as for records. Its options for files do not apply.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from email.message import Message
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from airflow_provider_odf import protocol
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.evolution.columns import reader_columns
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.manifest.fetch_kinds import carries_over
from airflow_provider_odf.protocol import ReadStep
from airflow_provider_odf.read_steps import READ_STEPS
from airflow_provider_odf.wording import suggestion

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.cycle.messages import Input
    from airflow_provider_odf.evolution.columns import Source

POLLING_SOURCE = "default"
"""The source name under which the chain keeps the state of the polling source."""

DEFAULT_SOURCE = "default"
"""Name of the push source that is used where there are several and none is named."""


def source_name_of(state: ChainState, name: str | None) -> str | None:
    """Return the name of the push source, None for the polling source. Without a name it is the only push source, or
    the one that is called ``default``.

    :raises InvalidInput: there are several.
    """
    if name is not None or not state.push_sources:
        return name
    if len(state.push_sources) == 1:
        return next(iter(state.push_sources))
    if DEFAULT_SOURCE in state.push_sources:
        return DEFAULT_SOURCE
    names = ", ".join(state.push_sources)
    raise InvalidInput(f"the dataset has the push sources {names}: name one (`--source`, or `source` in the conf)")


def source_of(state: ChainState, name: str | None) -> Source:
    """Return the push source of a name, or the only source, whose read, preprocess and merge steps apply.

    :raises InvalidInput: the dataset has no such source, or several push sources and none was named.
    """
    name = source_name_of(state, name)
    source = state.polling_source if name is None else state.push_sources.get(name)
    if source is None:
        if name is None:
            raise InvalidInput("the dataset has no source")
        raise InvalidInput(f"no push source {name!r} ({suggestion(name, list(state.push_sources))})")
    return source


def source_state(state: ChainState, current: model.FetchStep) -> model.SourceState | None:
    """Return the state of the polling source. It is None if another kind of fetch step recorded it."""
    if state.polling_fetch is None or not carries_over(state.polling_fetch, current):
        return None
    return state.polling_state


def read_step(source: Source, new_input: Input, state: ChainState) -> protocol.ReadStep:
    """Return how the files of an input are read. Pushed records are NdJson, and pushed files may have a media type;
    schema and formats of times are the source's. Without a schema, columns of the dataset keep their types."""
    if new_input.is_read:
        return protocol.ReadStep("Parquet")
    step = ddl.read_step(source.read)
    if step.columns is None and source.preprocess is None:
        step = dataclasses.replace(step, known_columns=reader_columns(state.schema, state.vocab))
    pushed = new_input.pushed
    if pushed is not None and pushed.media_type is not None:
        return read_as(step, pushed.media_type, new_input.files[0].label)
    if pushed is None or not pushed.is_records:
        return step
    kind = "NdGeoJson" if step.format.has_geometry else "NdJson"
    return dataclasses.replace(step, kind=kind, encoding="utf-8", sub_path=None)


KINDS = {format_.media_type: kind for kind, format_ in READ_STEPS.items()}
"""Media types as the reference implementation names them, and the kinds of read steps for them."""

_SUFFIXES = {suffix for format_ in READ_STEPS.values() for suffix in format_.suffixes}

_HEADER = {"present": True, "absent": False}


def media_type_of(names: Sequence[str], kind: str) -> str | None:
    """Return the media type that the suffixes of paths and URIs show; None if a source of the kind reads such files.

    :raises InvalidInput: the suffixes differ.
    """
    suffixes = {PurePosixPath(urlsplit(name).path).suffix.lower() for name in names} & _SUFFIXES
    others = [suffix for suffix in suffixes if suffix not in READ_STEPS[kind].suffixes]
    if not others:
        return None
    if len(suffixes) > 1:
        raise InvalidInput(
            f"one push cannot mix the suffixes {', '.join(sorted(suffixes))}: push these files separately"
        )
    formats = [format_ for format_ in READ_STEPS.values() if others[0] in format_.suffixes]
    return min(formats, key=lambda format_: format_.suffixes.index(others[0])).media_type


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

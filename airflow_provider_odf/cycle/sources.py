"""The source of an input, how its files are read, and how far the source was read."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.cycle import media_types
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.evolution.columns import reader_columns
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.manifest.fetch_kinds import carries_over
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
        return media_types.read_as(step, pushed.media_type, new_input.files[0].label)
    if pushed is None or not pushed.is_records:
        return step
    kind = "NdGeoJson" if step.format.has_geometry else "NdJson"
    return dataclasses.replace(step, kind=kind, encoding="utf-8", sub_path=None)

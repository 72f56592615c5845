"""Take in files that somebody hands over: what `poll` is for sources that are asked, this is for those that tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.cycle.apply import not_before
from airflow_provider_odf.cycle.merge import merge_source
from airflow_provider_odf.cycle.messages import Polled, PolledFile, SourceState, UpToDate
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.source.states import CONTENT_HASH

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.instant import Instant


def push(
    store: Store, dataset: str, data: Sequence[str], *, source_name: str | None, system_time: Instant
) -> Polled | UpToDate:
    """Files, or folders of part files, as one input for a merge.

    A push source remembers what it was given last: the same content again is up to date. Given to the polling source
    (``source_name`` None), files leave its state alone.

    :raises InvalidInput: a file is not there, or the dataset has no such source.
    """
    target = store.dataset(dataset)
    state = ChainState.of(target)
    merge_source(state, source_name)
    paths = tuple(str(file) for uri in data for file in _files(uri))
    seen = None
    if source_name is not None:
        seen = SourceState(CONTENT_HASH, _content_hash(paths))
        last = state.source_states.get(source_name)
        if last is not None and (last.kind, last.value) == (seen.kind, seen.value):
            return UpToDate()
    time = str(not_before(state, system_time))
    file = PolledFile(paths, event_time=time, label=", ".join(data), state=seen)
    return Polled(str(target.alias), state.head, time, (file,), source_name=source_name)


def _files(uri: str) -> list[Path]:
    """The files of a path or ``file:`` URI: itself, or a folder's, without those that Spark does not read either."""
    parts = urlsplit(uri)
    if "://" in uri and parts.scheme != "file":
        raise InvalidInput(f"{uri}: only local paths and file: URIs can be merged")
    path = Path(unquote(parts.path) if parts.scheme == "file" else uri)
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file() and p.name[0] not in "._")
    if not files:
        raise InvalidInput(f"{uri}: no such file, or no files in it")
    return files


def _content_hash(paths: Sequence[str]) -> str:
    hashes = [multiformats.hash_file(path) for path in paths]
    return hashes[0] if len(hashes) == 1 else multiformats.sha3_256("".join(hashes).encode())

"""What the catalog shows and searches of each dataset, kept in a file for all, so that no chain is read for a page.

The file lies in ``.pages`` of the work area. It can be deleted at any time. An entry counts as long as the head of its
dataset is the block that it stands for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.chain import cache_file, dataset_facts
from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import tested
from airflow_provider_odf.health.facts import ChainFacts, read_chain
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.ui.chain_cache import FOLDER, History, PageCache, read_history, read_positions

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.cycle.candidates import Record


@dataclass(frozen=True)
class Entry:
    """A dataset at its head. Times and offsets are None before the first data, the result without a contract."""

    head: str
    dataset_id: str
    kind: str
    last_offset: int | None
    watermark: Instant | None
    facts: ChainFacts
    contract_result: str | None
    description: str
    owner: str
    """That of the contract, empty without one."""
    columns: tuple[str, ...]
    words: str
    """What a search looks into beside the name, in lower case: columns, descriptions, keywords, tags, owner."""
    license: str
    inputs: tuple[tuple[str, str | None], ...]
    """Ref and alias of the inputs of a derivative."""
    positions: Mapping[str, int | None]
    """Dataset id of an input -> offset up to which it was read."""

    @property
    def published(self) -> Instant | None:
        """When the newest data was published."""
        return self.facts.published

    @property
    def records(self) -> int:
        return 0 if self.last_offset is None else self.last_offset + 1


_SEARCHED_TERMS = ("Title", "Owner", "Domain", "Description", "Purpose")
"""Labels of what a contract says of a dataset that a search looks into."""

_CATALOGS = PageCache[dict[str, Entry]]("catalog", 4, dict[str, Entry])


class CatalogIndex:
    """Entries of the datasets of a store, by URI, in its work area."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._entries = _CATALOGS.read(store.work_area / FOLDER) or {}
        self._is_changed = False

    def entry(self, dataset: Dataset) -> Entry:
        """Return the entry of a dataset at its head, from its chain if the head has moved.

        :raises DatasetNotFound: the dataset has no head.
        :raises ChainCorrupted: a block is missing, damaged, or violates a rule.
        """
        kept = self._entries.get(dataset.uri)
        if kept is not None and kept.head == dataset.resolve(HEAD):
            return kept
        entry = entry_of(dataset, self.store.work_area)
        self._entries[dataset.uri] = entry
        self._is_changed = True
        return entry

    def save(self) -> None:
        """Write the file if an entry is new, and this process may write to the work area."""
        folder = self.store.work_area / FOLDER
        if self._is_changed and cache_file.make_folder(self.store.work_area, folder):
            _CATALOGS.write(folder, self._entries)
            self._is_changed = False


def entry_of(dataset: Dataset, work_area: Path, history: History | None = None) -> Entry:
    """Return the entry of a dataset from what pages keep of its chain.

    :raises DatasetNotFound: the dataset has no head.
    :raises ChainCorrupted: a block is missing, damaged, or violates a rule.
    """
    history = history or read_history(dataset, work_area)
    state = history.state
    published = read_positions(dataset, state.head, work_area).published
    newest = tested.newest_record(dataset, state.head)
    record = newest[1] if newest is not None else None
    inputs = state.transform.inputs if state.transform is not None else ()
    columns = tuple(c["name"] for c in dataset_facts.columns(state.schema)) if state.schema is not None else ()
    return Entry(
        head=state.head,
        dataset_id=state.dataset_id,
        kind=state.kind,
        last_offset=state.last_offset,
        watermark=state.watermark,
        facts=read_chain(dataset, published),
        contract_result=record.report.result if record is not None and record.report is not None else None,
        description=(state.info.description or "") if state.info is not None else "",
        owner=record.terms.get("Owner", "") if record is not None else "",
        columns=columns,
        words=_words(state, columns, record),
        license=f"{state.license.short_name} {state.license.name}" if state.license is not None else "",
        inputs=tuple((declared.dataset_ref, declared.alias) for declared in inputs),
        positions={dataset_id: position.offset for dataset_id, position in state.query_inputs.items()},
    )


def _words(state: ChainState, columns: Iterable[str], record: Record | None) -> str:
    info = state.info
    texts = [*columns, *((info.description or "", *(info.keywords or ())) if info is not None else ())]
    for column in record.columns.values() if record is not None else ():
        texts += [column.title, column.description, column.classification, *column.tags]
    texts += [record.terms.get(label, "") for label in _SEARCHED_TERMS] if record is not None else []
    return "\n".join(filter(None, texts)).lower()

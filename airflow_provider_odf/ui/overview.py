"""What a dataset's first page shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain import dataset_facts
from airflow_provider_odf.chain.kept_history import SchemaBlock
from airflow_provider_odf.manifest import public_source
from airflow_provider_odf.ui import verification
from airflow_provider_odf.ui.notices import notices

if TYPE_CHECKING:
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.ui.subject import Subject


@dataclass(frozen=True)
class SchemaChange:
    """How a block changed the columns: sentences such as ``added price DOUBLE``."""

    block_hash: str
    system_time: Instant
    changes: tuple[str, ...]


def overview_of(subject: Subject) -> dict[str, Any]:
    """Return the values of the page.

    :raises DatasetNotFound: no run has created the dataset yet.
    """
    state = subject.history.state
    facts = dataset_facts.facts(subject.dataset, state)
    return {
        "health": subject.health,
        "facts": facts,
        "columns": sorted(facts["schema"], key=lambda column: column["name"] in facts["vocabulary"].values()),
        "size": public_source.size(facts["size"]),
        "key": {name.lower() for name in getattr(state.merge, "primary_key", ())},
        "report": subject.newest_report,
        "published": subject.entry.published,
        "publication": subject.entry.facts.decision,
        "waiting": subject.candidates.undecided,
        "source": list(dataset_facts.origins(state, " → ")),
        "notices": list(notices(subject)),
        "verification": verification.newest(subject.pages_folder),
        "schema_changes": list(schema_changes(subject.history.schemas)),
    }


def schema_changes(schemas: Sequence[SchemaBlock]) -> Iterator[SchemaChange]:
    """Yield the blocks that changed columns, newest first; the first schema is no change."""
    for before, after in reversed(list(pairwise(schemas))):
        changes = tuple(_changes(before, after))
        if changes:
            yield SchemaChange(after.block_hash, after.system_time, changes)


def _changes(before: SchemaBlock, after: SchemaBlock) -> Iterator[str]:
    old, new = ({c["name"]: _type(c) for c in dataset_facts.columns(s.event)} for s in (before, after))
    yield from (f"added {name} {new[name]}" for name in new if name not in old)
    yield from (f"removed {name} {old[name]}" for name in old if name not in new)
    yield from (f"{name}: {old[name]} became {new[name]}" for name in new if name in old and new[name] != old[name])


def _type(column: dict[str, Any]) -> str:
    return f"{column['type']}{'' if column['nullable'] else ' NOT NULL'}"

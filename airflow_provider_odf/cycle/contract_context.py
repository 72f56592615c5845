"""What a contract needs beside the rows of its dataset: rows of other datasets, and the history of updates.

Late data break the service level ``frequency``, but that is no reason to refuse them: service levels of datasets have
severity warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.publications import published_history
from airflow_provider_odf.contract import service_levels
from airflow_provider_odf.contract.binding import model_of
from airflow_provider_odf.contract.service_levels import Frequency
from airflow_provider_odf.contract.thresholds import RuleError
from airflow_provider_odf.cycle.history import history_of
from airflow_provider_odf.evolution.inputs import merge_of
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.folder_settings import settings_for
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.protocol import Check, Contract


def with_context(cycle: Cycle, contract: Contract, dataset: Dataset, base: str | None, now: Instant) -> Contract:
    """Return a contract with what the engine cannot see: see `with_related` and `with_frequency`."""
    return with_frequency(cycle, with_related(cycle, contract), dataset, base, now)


def with_related(cycle: Cycle, contract: protocol.Contract) -> protocol.Contract:
    """Return the contract with the published rows of the datasets that its references and queries name.

    A model belongs to the dataset of its name, with ``_`` for ``-`` and ``.``.

    :raises ChainCorrupted: a slice of such a dataset is missing, or is not what its physical hash says.
    """
    models = contract.named_models() - {contract.model.lower()}
    return replace(contract, related=tuple(_related(cycle, models))) if models else contract


def _related(cycle: Cycle, models: set[str]) -> Iterator[protocol.RelatedDataset]:
    for dataset in cycle.store.datasets():
        name = model_of(str(dataset.alias)).lower()
        if name in models and dataset.head() is not None:
            state = cycle.states(dataset)
            yield protocol.RelatedDataset(
                name,
                state.vocab,
                history_of(cycle, dataset, state),
                merge_of(state),
                chain_schema.ipc_base64(state.schema) if state.schema else None,
                tuple(sorted(cycle.sensitive_columns.names(dataset, state))),
            )


def with_frequency(cycle: Cycle, contract: Contract, dataset: Dataset, base: str | None, now: Instant) -> Contract:
    """Return the contract with an outcome of its clause about the frequency of updates.

    ``base`` is the block that the new data come after, ``now`` the time of the update.
    """
    if not any(check.kind == service_levels.FREQUENCY for check in contract.checks):
        return contract
    manifest = cycle.manifest
    schedule = settings_for(manifest.file, manifest.snapshot.name).schedule if manifest else None
    newest = next(_updates(dataset, base), None) if base else None
    checks = (
        _measured(c, newest, now.to_datetime(), schedule) if c.kind == service_levels.FREQUENCY else c
        for c in contract.checks
    )
    return replace(contract, checks=tuple(checks))


def _updates(dataset: Dataset, base: str) -> Iterator[datetime]:
    """Yield the times at which blocks with data were published, the newest first."""
    history = published_history(dataset, base)
    for _, block in dataset.walk(base):
        if isinstance(block.event, model.AddData | model.ExecuteTransform) and block.event.new_data is not None:
            yield history.since(block.sequence_number, block.system_time).to_datetime()


def _measured(check: Check, before: datetime | None, now: datetime, schedule: str | None) -> Check:
    promise = service_levels.frequency_of(check)
    if promise is None or check.outcome == "error":
        return check
    try:
        passed = promise.periods(before or now, now)
        ahead = _of_schedule(promise, schedule, now)
    except RuleError as e:
        return replace(check, outcome="error", reason=str(e))
    if ahead > 1:
        reason = f"the DAG schedule {schedule} leaves {counted(ahead - 1, 'period')} without a run"
        return replace(check, outcome="fail", reason=reason)
    if before is None:
        return replace(check, outcome="pass", reason="the first update")
    gap = f"between {_shown(before)} and {_shown(now)}"
    if passed > 1:
        reason = f"{counted(passed - 1, 'period')} without an update {gap}"
        return replace(check, outcome="fail", reason=reason)
    return replace(check, outcome="pass", reason=f"no period without an update {gap}")


def _shown(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def _of_schedule(promise: Frequency, schedule: str | None, now: datetime) -> int:
    """Return how many periods of a promise are between two runs of a DAG, 0 if its schedule has no times."""
    from croniter import croniter

    cron = service_levels.CRON.get((schedule or "").removeprefix("@"), schedule)
    if cron is None or cron.startswith("@"):
        return 0
    times = croniter(cron, now)
    first = times.get_next(datetime)
    return promise.periods(first, times.get_next(datetime))

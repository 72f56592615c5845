"""Reports of contract tests to DataHub, as the settings ``[odf] datahub_…`` configure them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import settings
from airflow_provider_odf.hooks.datahub import DataHubHook
from airflow_provider_odf.redaction import redact
from airflow_provider_odf.version import __version__
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.messages import Candidate
    from airflow_provider_odf.datahub.proposals import Batch, Run
    from airflow_provider_odf.datahub.send import Destination
    from airflow_provider_odf.protocol import Contract, ContractReport

log = logging.getLogger(__name__)


def report_to_datahub(
    store: Store,
    candidate: Candidate,
    contract: Contract,
    report: ContractReport,
    context: Context,
    *,
    conn_id: str | None = None,
    source_name: str | None = None,
    url: str | None = None,
) -> None:
    """Send a contract report to the configured places. A place that does not take it is a warning: DataHub never
    decides on a publication.

    :param conn_id: connection of a server, in place of ``[odf] datahub_conn_id``.
    :param url: the page of the report.
    """
    values = settings.read()
    conn_id = conn_id or values.datahub_conn_id
    if not (conn_id or values.datahub_file):
        return
    try:
        from airflow_provider_odf.datahub.send import require_library

        require_library()
        from airflow_provider_odf.chain.replay import replay
        from airflow_provider_odf.datahub.proposals import Assertions, Options
        from airflow_provider_odf.datahub.send import send
        from airflow_provider_odf.lineage.dataset import of_dataset

        options = Options(values.datahub_env, values.datahub_instance, values.datahub_incidents)
        dataset = store.dataset(candidate.dataset)
        state = replay(dataset, candidate.candidate)
        run = _run(state, candidate, source_name, context, url)
        subject = of_dataset(store, dataset, state, edition=values.naming_spec)
        assertions = Assertions(contract, report, subject, run, options)
    except Exception as e:
        log.warning("DataHub: nothing was reported: %s", redact(str(e)))
        return
    for destination in _destinations(conn_id, values.datahub_file, f"{candidate.dataset}-{run.id}"):
        try:
            count = send(assertions, destination, dataset)
            clauses = counted(len(contract.checks), "clause")
            log.info("DataHub: %s of %s sent to %s", counted(count, "aspect"), clauses, destination.name)
        except Exception as e:
            log.warning("DataHub: cannot send the report to %s: %s", destination.name, redact(str(e)))


def _destinations(conn_id: str, file: str, run: str) -> Iterator[Destination]:
    from airflow_provider_odf.datahub.send import File

    if conn_id:
        try:
            yield DataHubHook(conn_id).get_conn()
        except Exception as e:
            log.warning("DataHub: connection %s cannot be used: %s", conn_id, redact(str(e)))
    if file:
        yield File(Path(file), run)


def _run(state: ChainState, candidate: Candidate, source_name: str | None, context: Context, url: str | None) -> Run:
    from airflow.providers.openlineage.plugins.macros import lineage_run_id

    from airflow_provider_odf.datahub.proposals import Run
    from airflow_provider_odf.instant import Instant

    ti = context["ti"]
    facts = {
        "dag_id": ti.dag_id,
        "task_id": ti.task_id,
        "dag_run_id": ti.run_id,
        "try_number": str(ti.try_number),
        "map_index": str(ti.map_index),
        "provider": f"airflow-provider-odf {__version__}",
    }
    now = int(Instant.now().to_datetime().timestamp() * 1000)
    return Run(lineage_run_id(ti), now, _batch(state, candidate, source_name), url, facts)


def _batch(state: ChainState, candidate: Candidate, source_name: str | None) -> Batch:
    """Return the rows that a candidate was tested on: its current rows, or its new records if the strategy has no
    current rows."""
    from airflow_provider_odf.cycle.sources import source_of
    from airflow_provider_odf.datahub.proposals import Batch
    from airflow_provider_odf.manifest import ddl

    query = f"SELECT * FROM `{candidate.dataset}`"  # noqa: S608 - names rows for readers, nobody runs it
    properties = {"ref": candidate.ref, "records": str(candidate.records)}
    if candidate.offsets is None or ddl.merge_strategy(source_of(state, source_name).merge).traits.has_current_rows:
        return Batch(candidate.candidate, query, None, {**properties, "rows": "current rows"})
    first, last = candidate.offsets.start, candidate.offsets.end
    where = f" WHERE `{state.vocab.offset_column}` BETWEEN {first} AND {last}"
    return Batch(candidate.candidate, query + where, (first, last), {**properties, "rows": "new records"})

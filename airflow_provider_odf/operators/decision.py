"""Decisions on rejected candidates in the conf of a run: ``{"decision": {"dataset": NAME, "publish": BLOCK_HASH}}``, or
``retest`` in place of ``publish``, and perhaps ``"reason": TEXT``.

Such a run neither polls nor merges: its tasks take the rejected candidate further. So the decision has a log, lineage
and an asset event like any other publication. Whoever may trigger the DAG may decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.author import Author, checked_reason
from airflow_provider_odf.chain.dataset import is_hash
from airflow_provider_odf.cycle.decisions import ACTIONS, Decision, carry_out
from airflow_provider_odf.cycle.messages import UpToDate
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_odf.cycle.messages import Candidate
    from airflow_provider_odf.operators.base import OdfOperator

KEY = "decision"
_FORM = (
    '{"decision": {"dataset": NAME, "publish": BLOCK_HASH, "reason": TEXT}}, or with "retest" in place of "publish"; '
    "the reason may be omitted"
)


def run_prefix(block_hash: str) -> str:
    """Return the start of the names of runs that pages start for a decision on a candidate."""
    return f"decision_{block_hash[-16:]}_"


def decision_on(context: Context, dataset: str | None) -> Decision | None:
    """Return the decision of a run on a candidate of a dataset, or None if the run has none.

    :raises InvalidInput: the conf is not valid.
    """
    run: Any = context.get("dag_run")
    conf = (run.conf if run is not None else None) or {}
    if KEY not in conf:
        return None
    content = conf[KEY]
    actions = [key for key in ACTIONS if key in content] if isinstance(content, dict) else []
    if len(actions) != 1 or not _is_formed(content, actions[0]):
        raise InvalidInput(f"conf: {KEY} is not valid: write it as {_FORM}")
    block_hash = content[actions[0]]
    if not (isinstance(block_hash, str) and is_hash(block_hash)):
        raise InvalidInput(f"conf: {str(block_hash)[:80]!r} is not the hash of a block: write {KEY} as {_FORM}")
    is_about = dataset is not None and content["dataset"].lower() == dataset.lower()
    return Decision(actions[0], block_hash, checked_reason(content.get("reason"))) if is_about else None


def _is_formed(content: Any, action: str) -> bool:
    names = {"dataset", action}
    texts = (content.get("dataset"), content.get("reason", ""))
    return names <= set(content) <= {*names, "reason"} and all(isinstance(text, str) for text in texts)


def author_of(context: Context, reason: str | None = None) -> Author:
    """Return the author of what a task publishes: its run, and the user who triggered the run."""
    from airflow_provider_odf.hooks.applications import run_id_of

    run: Any = context.get("dag_run")
    task_instance: Any = context.get("ti")
    if run is None or task_instance is None:
        return Author(reason=reason)
    properties = {
        "dagId": task_instance.dag_id,
        "runId": task_instance.run_id,
        "taskId": task_instance.task_id,
        "tryNumber": str(task_instance.try_number),
        "lineageRunId": run_id_of(context) or "",
    }
    named = {name: text for name, text in properties.items() if text}
    return Author(getattr(run, "triggering_user_name", None), reason, named)


def decided(task: OdfOperator, context: Context) -> Candidate | None:
    """Return the candidate that the decision of a run is about; None if the task shall do its usual work.

    :raises AirflowSkipException: the candidate is published already.
    :raises InvalidInput: the decision cannot be carried out.
    """
    decision = decision_on(context, task.dataset_name)
    if decision is None:
        return None
    dataset = task.odf.dataset(str(task.dataset_name))
    result = carry_out(dataset, decision, author_of(context, decision.reason))
    if isinstance(result, UpToDate):
        task.skip(result)
    if result is None:
        task.log.warning(
            "%s: the head has moved, so candidate %s cannot be published. The decision is kept: the run that merges "
            "the same input publishes it",
            task.dataset_name,
            decision.block_hash,
        )
        return None
    task.log.info("%s: decision: %s candidate %s", task.dataset_name, decision.action, decision.block_hash)
    return result


def take_candidate(task: OdfOperator, context: Context, make: Callable[[], Candidate | UpToDate]) -> dict[str, Any]:
    """Return the XCom of the candidate that the decision of a run is about, else of the one that is made.

    :raises AirflowSkipException: there is nothing to do.
    """
    from airflow_provider_odf.cycle.xcom import pass_candidate

    candidate = decided(task, context) or make()
    if isinstance(candidate, UpToDate):
        task.skip(candidate)
    task.show(candidate)
    task.warn(candidate.notices)
    offsets = f" (offsets {candidate.offsets.start}..{candidate.offsets.end})" if candidate.offsets else ""
    changes = f": {candidate.changes}" if candidate.changes else ""
    records = counted(candidate.records, "record")
    task.log.info("%s: candidate of %s%s%s", candidate.dataset, records, offsets, changes)
    return pass_candidate(candidate)


def decision_about(context: Context, dataset: str | None, block_hash: str | None) -> Decision | None:
    """Return the decision of a run on the candidate that ends in a block, or None if it has none."""
    decision = decision_on(context, dataset)
    return decision if decision is not None and decision.block_hash == block_hash else None

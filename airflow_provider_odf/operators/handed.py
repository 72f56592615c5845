"""What the operators share that take in what was handed over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_provider_odf import settings
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.settings import push_paths

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_odf.cycle.messages import Polled, UpToDate
    from airflow_provider_odf.cycle.push import Push
    from airflow_provider_odf.operators.base import OdfOperator


def take(task: OdfOperator, given: Push, *, copies: bool = False) -> Polled | UpToDate:
    """Return what is pushed to a task's dataset as input for a merge. The task's manifest is applied first, if it has
    one.

    :raises InvalidInput: the task has neither dataset nor manifest, the manifest changes what existing data need, or
        what is pushed is not valid.
    :raises SourceError: a URI cannot be fetched.
    """
    from airflow_provider_odf.cycle.apply import apply
    from airflow_provider_odf.cycle.push import push
    from airflow_provider_odf.instant import Instant

    config = settings.read()
    manifest = task.load_manifest() if task.manifest else None
    if manifest is not None:
        apply(task.odf, manifest, Instant.now(), manifest_version=config.manifest_version, ask=task.ask)
    dataset = str(manifest.snapshot.name) if manifest is not None else task.dataset
    if dataset is None:
        raise InvalidInput(f"{type(task).__name__} needs dataset= or manifest=")
    return push(
        task.odf,
        dataset,
        given,
        system_time=Instant.now(),
        manifest=manifest,
        manifest_version=config.manifest_version,
        copies=copies,
        options=config.options,
        progress=task.progress,
    )


class HandedMixin:
    """What the ``data`` of a task may lead to."""

    data: Any
    push_paths: Sequence[str]
    written: tuple[str, ...] | None
    """`push_paths.authored` of the ``data`` that the author wrote, before templates are filled."""

    def checked(self, given: Push, context: Context) -> Push:
        """The same push, if its paths and URIs are the author's own or allowed, and so are redirects.

        :raises InvalidInput: they are not, or a setting is not valid.
        """
        task, setting = context.get("ti"), settings.read().push_paths
        is_mapped = task is not None and task.map_index is not None and task.map_index >= 0
        if setting is None or (self.written is None and not is_mapped):
            return given
        allowed = (*setting, *self.push_paths, *(self.written or ()))
        push_paths.check(given.uris, allowed)
        return replace(given, allows=partial(push_paths.allows, prefixes=allowed))


def push_id(context: Context) -> str | None:
    """Names what a task of a run hands over, the same when it is run again; None outside of a run."""
    task = context.get("ti")
    if task is None:
        return None
    index = f"[{task.map_index}]" if task.map_index is not None and task.map_index >= 0 else ""
    return f"{task.dag_id}/{task.run_id}/{task.task_id}{index}"

"""What the operators share that take in what was handed over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.dag import settings
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.operators import push_paths

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_odf.cycle.push import Push
    from airflow_provider_odf.operators.base import OdfOperator


def apply_manifest(task: OdfOperator) -> str:
    """The alias of a task's dataset, once the dataset says what the manifest says, if the task has one.

    :raises InvalidInput: the task has neither dataset nor manifest, or the manifest changes what existing data need.
    """
    from airflow_provider_odf.cycle.apply import apply
    from airflow_provider_odf.instant import Instant

    if task.manifest:
        manifest = task.load_manifest()
        apply(task.odf, manifest, Instant.now(), manifest_version=settings.read().manifest_version, ask=task.ask)
        return str(manifest.snapshot.name)
    if task.dataset is None:
        raise InvalidInput(f"{type(task).__name__} needs dataset= or manifest=")
    return task.dataset


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

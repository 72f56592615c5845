"""Checks of paths from outside, and the push id of a task, for all operators that push data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_provider_odf import settings
from airflow_provider_odf.settings import push_paths

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_odf.cycle.pushed_input import Push


class PushMixin:
    """Checks where the ``data`` of a task may point to."""

    data: Any
    push_paths: Sequence[str]
    written: tuple[str, ...] | None
    """Paths and URIs in ``data`` as the author wrote them, before templates: see `push_paths.author_prefixes`."""

    def allowed(self, data: Push, context: Context) -> Push:
        """Return a push that may redirect to allowed URLs only, after a check of its paths and URIs: those of the DAG's
        author and those under ``push_paths`` are allowed.

        :raises InvalidInput: a path or URI is not allowed, or a setting is not valid.
        """
        task, setting = context.get("ti"), settings.read().push_paths
        is_mapped = task is not None and task.map_index is not None and task.map_index >= 0
        if setting is None or (self.written is None and not is_mapped):
            return data
        prefixes = (*setting, *self.push_paths, *(self.written or ()))
        push_paths.check(data.uris, prefixes)
        return replace(data, allows=partial(push_paths.allows, prefixes=prefixes))


def push_id(context: Context) -> str | None:
    """Return the push id of a task in a DAG run, the same for each try; None outside of a run."""
    task = context.get("ti")
    if task is None:
        return None
    index = f"[{task.map_index}]" if task.map_index is not None and task.map_index >= 0 else ""
    return f"{task.dag_id}/{task.run_id}/{task.task_id}{index}"

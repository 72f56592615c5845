"""``odf plan``: the blocks that a run would append to the chains of datasets before it polls."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from difflib import unified_diff
from typing import Annotated, Any

import typer

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cli.manifests import checked, load_manifests, no_manifests
from airflow_provider_odf.cli.options import (
    Format,
    FormatOption,
    InputStoresOption,
    StoreOption,
    near,
    open_store,
    print_json,
    print_problems,
    problem_json,
)
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import InvalidInput, ManifestInvalid, Place, Problem, SourceError
from airflow_provider_odf.evolution.analysis import Ask, analyzed_transform, recorded_evaluation
from airflow_provider_odf.evolution.difference import Change, Difference
from airflow_provider_odf.evolution.inputs import has_new_input, linked, with_ids
from airflow_provider_odf.evolution.plan import Plan
from airflow_provider_odf.evolution.plan import plan as plan_changes
from airflow_provider_odf.manifest import model, public_source
from airflow_provider_odf.manifest.manifest import Manifest
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.manifest.public_source import dump
from airflow_provider_odf.redaction import without
from airflow_provider_odf.runner.local import LocalRunner

_MAX_WIDTH = 100
"""Maximum number of characters of a value on one line."""


def plan(
    manifests: Annotated[list[str], typer.Argument(help="Manifest files, or folders of them.", metavar="MANIFEST")],
    store: StoreOption = None,
    input_store: InputStoresOption = None,
    how: FormatOption = "table",
    suggest: Annotated[
        bool,
        typer.Option(
            "--suggest",
            help="Also compare the newest file of each source with its schema, and show edits that take in "
            "the columns it does not declare.",
        ),
    ] = False,
) -> None:
    """Show the blocks that a run would append before the data, with their changes, or why a change is refused.

    For a derivative it also shows how its query is evaluated; Spark analyzes a query that no run has evaluated yet.
    Nothing is written. Exit 0 with or without changes, 1 if a dataset cannot be read, 2 if a change is refused.
    """
    target = open_store(store, input_store)
    loaded = checked(load_manifests(manifests, target))
    print_problems((), loaded.warnings)
    plans, unreadable = list[Plan](), list[Plan]()
    declared = {manifest.snapshot.alias for manifest in loaded.manifests}
    with LocalRunner() as runner:
        for manifest in loaded.manifests:
            alias = str(manifest.snapshot.alias)
            try:
                if suggest:
                    _suggest(manifest)
                plans.append(_planned(target, manifest, declared, lambda request: runner.submit(request).result()))
            except ManifestInvalid as e:
                plans.append(Plan(alias, False, problems=tuple(e.problems)))
            except Exception as e:  # any error: the other datasets follow
                problem = Problem(Place(str(manifest.file)), str(as_odf_error(e)))
                unreadable.append(Plan(alias, False, problems=(problem,)))
    _print(plans, unreadable, how)
    if loaded.problems:
        raise ManifestInvalid(loaded.problems)
    if not loaded.manifests:
        raise InvalidInput(no_manifests(manifests))
    raise typer.Exit(2 if any(plan.problems for plan in plans) else int(bool(unreadable)))


def _suggest(manifest: Manifest) -> None:
    """Print the edit of a manifest that takes in the columns of its newest file, on standard error."""
    from airflow_provider_odf.inference.undeclared import undeclared

    try:
        found = undeclared(manifest)
    except (InvalidInput, SourceError) as e:
        print(near(f"{manifest.snapshot.alias}: no suggestion: {e}"), file=sys.stderr)
        return
    if found is not None:
        what = f"{found.file} has columns that the schema does not declare. To take them in, add:"
        print(near(f"{found.place}: suggestion: {what}"), file=sys.stderr)
        print("\n".join(f"  {line}" for line in found.lines), file=sys.stderr)


def _planned(store: Store, manifest: Manifest, declared: Collection[DatasetAlias], ask: Ask) -> Plan:
    """Return the plan of a manifest. Only the query of a derivative that no run has analyzed yet starts the engine.

    :raises ManifestInvalid: the manifest, or its query, is not valid.
    :raises DatasetGone: the dataset was deleted from the store.
    """
    dataset, inputs = store.get(manifest.snapshot.alias), linked(store, manifest)
    if dataset is None:
        store.check_new(manifest.snapshot.alias)
    manifest = with_ids(manifest, inputs, declared)
    state = replay(dataset) if dataset else None
    planned = plan_changes(state, manifest)
    event = manifest.snapshot.last(model.SetTransform)
    if planned.problems or event is None:
        return planned
    evaluation = recorded_evaluation(dataset, event.transform) if dataset is not None else None
    if evaluation is None and not has_new_input(event):
        try:
            evaluation = analyzed_transform(state, manifest, event, inputs, ask)
        except ManifestInvalid as e:
            return replace(planned, problems=tuple(e.problems))
    note = "its query is analyzed once its inputs have data"
    if evaluation is not None:
        note = f"evaluation: {evaluation.kind}: {evaluation.reason}"
    return replace(planned, notes=(*planned.notes, note))


def _print(plans: Sequence[Plan], unreadable: Sequence[Plan], how: Format) -> None:
    """Print plans, and the problem of each dataset whose chain cannot be read."""
    if how == "json":
        print_json([*(_json(p, _action(p)) for p in plans), *(_json(p, "error") for p in unreadable)])
        return
    for plan in plans:
        print(near("\n".join(_lines(plan))))
    for plan in unreadable:
        print(near(f"{plan.dataset}: {plan.problems[0].message}"), file=sys.stderr)


def _action(plan: Plan) -> str:
    if plan.problems:
        return "refused"
    return "create" if plan.is_new else "change" if plan.changes else "no changes"


def _lines(plan: Plan) -> Iterator[str]:
    yield f"{plan.dataset}: {_action(plan)}"
    if plan.problems:
        yield from (f"  {problem}" for problem in plan.problems)
        return
    if plan.is_new:
        yield "  + Seed  (a new dataset id)"
    for change in plan.changes:
        yield f"  {_title(change)}" + (f"  ({change.place})" if change.place else "")
        if change.before is None:
            content = dump(change.event)
            yield from _values("", {key: content[key] for key in content if key not in ("kind", "sourceName")})
        secrets = _secrets(change)
        for difference in change.differences:
            yield from (without(line, secrets) for line in _difference(difference))
    yield from (f"  {note}" for note in plan.notes)


def _title(change: Change) -> str:
    kind, name = change.event.kind, getattr(change.event, "source_name", None)
    sign = "-" if kind.startswith("Disable") else "+" if change.before is None else "~"
    return f"{sign} {kind} {name}" if name else f"{sign} {kind}"


def _secrets(change: Change) -> set[str]:
    """Return the literal secrets in an event and the event that it replaces. Logs of CI keep all output."""
    before = public_source.secrets(change.before) if change.before is not None else set()
    return before | public_source.secrets(change.event)


def _mask(value: Any, secrets: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _mask(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [_mask(item, secrets) for item in value]
    return without(value, secrets) if isinstance(value, str) else value


def _values(path: str, value: Any) -> Iterator[str]:
    """Yield a line for each value of an event, with its dotted path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            name = "schema" if key == "ddlSchema" else key  # as in a manifest, and in the lines of a change
            yield from _values(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for index, inner in enumerate(value):
            yield from _values(f"{path}[{index}]", inner)
    else:
        yield f"      {path}: {_format_value(value)}"


def _difference(difference: Difference) -> Iterator[str]:
    before, after = difference.before, difference.after
    if isinstance(before, str) and isinstance(after, str) and _is_long(before, after):
        yield f"      {difference.path}:"
        changed = list(unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm=""))[2:]
        yield from (f"        {line}" for line in changed if not line.startswith("@@"))
    elif before is None:
        yield f"      {difference.path}: + {_format_value(after)}"
    elif after is None:
        yield f"      {difference.path}: - {_format_value(before)}"
    else:
        yield f"      {difference.path}: {_format_value(before)} -> {_format_value(after)}"


def _is_long(before: str, after: str) -> bool:
    return "\n" in before or "\n" in after or len(before) + len(after) > _MAX_WIDTH // 2


def _format_value(value: Any) -> str:
    """Return a value on one line: plain texts without quotes, others as JSON."""
    is_plain = isinstance(value, str) and value.strip() == value != "" and value.isprintable()
    text = value if is_plain else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_WIDTH else f"{text[:_MAX_WIDTH]}…"


def _json(plan: Plan, action: str) -> dict[str, Any]:
    return {
        "dataset": plan.dataset,
        "action": action,
        "blocks": [] if plan.problems else [_block(change) for change in plan.changes],
        "refused": [problem_json("error", problem) for problem in plan.problems],
        "notes": list(plan.notes),
    }


def _block(change: Change) -> dict[str, Any]:
    secrets = _secrets(change)
    return {
        "event": dump(change.event),
        "place": str(change.place) if change.place else None,
        "replaces": dump(change.before) if change.before is not None else None,
        "differences": [
            {"path": d.path, "before": _mask(d.before, secrets), "after": _mask(d.after, secrets)}
            for d in change.differences
        ],
    }

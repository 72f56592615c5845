"""``odf plan``: what a run would append to the chains of datasets before it asks for data."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING, Annotated, Any

import typer

from airflow_provider_odf.cli.output import Format, FormatOption, StoreOption, near, print_json
from airflow_provider_odf.cli.run import every_problem, load_manifests, open_store, print_warnings, problem_json
from airflow_provider_odf.errors import ManifestInvalid, Place, Problem
from airflow_provider_odf.failures import as_odf_error
from airflow_provider_odf.redaction import without

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.evolution.changes import Change
    from airflow_provider_odf.evolution.difference import Difference
    from airflow_provider_odf.evolution.plan import Plan
    from airflow_provider_odf.manifest.manifest import Manifest

_SHOWN = 100
"""Characters of a value on one line."""


def register(app: typer.Typer) -> None:
    """Add the command of this module to the tool."""
    app.command("plan")(plan_manifests)


def plan_manifests(
    manifests: Annotated[list[str], typer.Argument(help="Manifest files, or folders of them.", metavar="MANIFEST")],
    store: StoreOption = None,
    how: FormatOption = Format.table,
) -> None:
    """Show what a run would append before the data: blocks with what changes in them, or what is refused and why.

    Nothing is written. Exit 0, also where there are changes; 1 where a dataset cannot be read; 2 where something is
    refused.
    """
    target = open_store(store)
    loaded = load_manifests(manifests, target)
    print_warnings(loaded)
    plans: list[Plan] = []
    unreadable: list[tuple[str, Problem]] = []
    for manifest in loaded.manifests:
        try:
            plans.append(_plan(target, manifest))
        except Exception as e:  # of whatever kind: it may not hide the other datasets
            problem = Problem(Place(str(manifest.file)), str(as_odf_error(e)))
            unreadable.append((str(manifest.snapshot.alias), problem))
    _print(plans, unreadable, how)
    if problems := every_problem(loaded):
        raise ManifestInvalid(problems)
    raise typer.Exit(2 if any(plan.problems for plan in plans) else int(bool(unreadable)))


def _plan(store: Store, manifest: Manifest) -> Plan:
    """:raises DatasetGone: the store had the dataset, and it is gone."""

    from airflow_provider_odf.chain.replay import replay
    from airflow_provider_odf.evolution.plan import plan

    dataset = store.get(manifest.snapshot.alias)
    if dataset is None:
        store.check_new(manifest.snapshot.alias)
    return plan(replay(dataset) if dataset else None, manifest)


def _print(plans: Sequence[Plan], unreadable: Sequence[tuple[str, Problem]], how: Format) -> None:
    if how is Format.json:
        print_json([*map(_as_json, plans), *(_error_json(name, problem) for name, problem in unreadable)])
        return
    for plan in plans:
        print(near("\n".join(_lines(plan))))
    for name, problem in unreadable:
        print(near(f"{name}: {problem.message}"), file=sys.stderr)


def _action(plan: Plan) -> str:
    if plan.problems:
        return "refused"
    return "create" if plan.is_new else "change" if plan.changes else "no changes"


# --- text -----------------------------------------------------------------------------------------------------------


def _lines(plan: Plan) -> Iterator[str]:
    yield f"{plan.dataset}: {_action(plan)}"
    if plan.problems:
        yield from (f"  {problem}" for problem in plan.problems)
        return
    for change in plan.changes:
        yield f"  {_sign(change)} {_title(change)}" + (f"  ({change.place})" if change.place else "")
        if change.before is None:
            yield from _values("", _content(change))
        secrets = _secrets(change)
        for difference in change.differences:
            yield from (without(line, secrets) for line in _difference(difference))
    yield from (f"  {note}" for note in plan.notes)


def _sign(change: Change) -> str:
    if change.event.kind.startswith("Disable"):
        return "-"
    return "+" if change.before is None else "~"


def _title(change: Change) -> str:
    name = getattr(change.event, "source_name", None)
    return f"{change.event.kind} {name}" if name else change.event.kind


def _content(change: Change) -> dict[str, Any]:
    from airflow_provider_odf.manifest import public

    return {key: value for key, value in public.dump(change.event).items() if key not in ("kind", "sourceName")}


def _secrets(change: Change) -> set[str]:
    """The literal secrets in an event and the one that it replaces: continuous integration keeps what is printed."""
    from airflow_provider_odf.manifest import public

    before = public.secrets(change.before) if change.before is not None else set()
    return before | public.secrets(change.event)


def _masked(value: Any, secrets: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _masked(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, secrets) for item in value]
    return without(value, secrets) if isinstance(value, str) else value


def _values(path: str, value: Any) -> Iterator[str]:
    """Each value of an event under its dotted path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(f"{path}.{key}" if path else key, inner)
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for index, inner in enumerate(value):
            yield from _values(f"{path}[{index}]", inner)
    else:
        yield f"      {path}: {_shown(value)}"


def _difference(difference: Difference) -> Iterator[str]:
    before, after = difference.before, difference.after
    if isinstance(before, str) and isinstance(after, str) and _is_long(before, after):
        yield f"      {difference.path}:"
        changed = list(unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm=""))[2:]
        yield from (f"        {line}" for line in changed if not line.startswith("@@"))
    elif before is None:
        yield f"      {difference.path}: + {_shown(after)}"
    elif after is None:
        yield f"      {difference.path}: - {_shown(before)}"
    else:
        yield f"      {difference.path}: {_shown(before)} -> {_shown(after)}"


def _is_long(before: str, after: str) -> bool:
    """Whether two texts are easier to compare one above the other."""
    return "\n" in before or "\n" in after or len(before) + len(after) > _SHOWN // 2


def _shown(value: Any) -> str:
    """A value on one line: texts as they are where that is clear, others as JSON."""
    is_plain = isinstance(value, str) and value.strip() == value != "" and value.isprintable()
    text = value if is_plain else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


# --- JSON -----------------------------------------------------------------------------------------------------------


def _as_json(plan: Plan) -> dict[str, Any]:
    return {
        "dataset": plan.dataset,
        "action": _action(plan),
        "blocks": [] if plan.problems else [_block(change) for change in plan.changes],
        "refused": [problem_json("error", problem) for problem in plan.problems],
        "notes": list(plan.notes),
    }


def _error_json(name: str, problem: Problem) -> dict[str, Any]:
    """A dataset whose chain cannot be read."""
    return {
        "dataset": name,
        "action": "error",
        "blocks": [],
        "refused": [problem_json("error", problem)],
        "notes": [],
    }


def _block(change: Change) -> dict[str, Any]:
    from airflow_provider_odf.manifest.public import dump

    secrets = _secrets(change)
    return {
        "event": dump(change.event),
        "place": str(change.place) if change.place else None,
        "replaces": dump(change.before) if change.before is not None else None,
        "differences": [
            {"path": d.path, "before": _masked(d.before, secrets), "after": _masked(d.after, secrets)}
            for d in change.differences
        ],
    }

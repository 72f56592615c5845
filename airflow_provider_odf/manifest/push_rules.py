"""Common properties of the push sources of one dataset, since their records form one history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_provider_odf.manifest import ddl, read_rules
from airflow_provider_odf.manifest import model as e
from airflow_provider_odf.manifest.findings import Finding, rule
from airflow_provider_odf.merge_strategies import can_follow
from airflow_provider_odf.protocol import DatasetVocabulary

Numbered = tuple[int, e.AddPushSource]
"""A source and its index among the events."""


def check(sources: Sequence[Numbered], vocabulary: DatasetVocabulary) -> Iterator[Finding]:
    """Yield the differences of each source from the first; paths start at the list of events."""
    for other in sources[1:]:
        first = sources[0][1]
        yield from _merged(first, other)
        yield from _columns(first, other, vocabulary)


@rule
def _merged(first: e.AddPushSource, other: Numbered) -> Iterator[Finding]:
    """Check that the strategies share one history: Append and Ledger only add, the others have a newest record of each
    key."""
    index, source = other
    one, two = ddl.merge_strategy(first.merge), ddl.merge_strategy(source.merge)
    if not (can_follow(one.kind, two.kind) and can_follow(two.kind, one.kind)):
        message = f"{two.kind} cannot share a history with source {first.source_name}, which merges by {one.kind}"
        yield Finding((index, "merge"), message, "use one strategy, or split the dataset")
    elif {k.lower() for k in one.primary_key} != {k.lower() for k in two.primary_key}:
        keys = f"({', '.join(two.primary_key)}), that of source {first.source_name} is ({', '.join(one.primary_key)})"
        yield Finding((index, "merge", "primary_key"), f"the key is {keys}", "use the same key in all sources")


@rule
def _columns(first: e.AddPushSource, other: Numbered, vocabulary: DatasetVocabulary) -> Iterator[Finding]:
    """Compare declared columns; columns of a query are compared when its SQL is translated."""
    index, source = other
    one, two = (_declared(s, vocabulary) for s in (first, source))
    if not one or not two:
        return
    for missing in sorted(one.keys() - two.keys()):
        message = f"column {one[missing].name} of source {first.source_name} is missing here"
        yield Finding((index, "read"), message, "all sources must have the same columns: add it to the schema")
    for name, column in two.items():
        if name not in one:
            message = f"column {column.name} is not in source {first.source_name}"
            yield Finding(
                (index, "read", *column.path), message, "all sources must have the same columns: add it there"
            )
        elif "" not in (column.type, one[name].type) and column.type != one[name].type:
            message = f"column {column.name} is {column.type} here and {one[name].type} in source {first.source_name}"
            yield Finding((index, "read", *column.path), message, "declare one type, or convert it in `preprocess`")


def _declared(source: e.AddPushSource, vocabulary: DatasetVocabulary) -> dict[str, read_rules.DeclaredColumn]:
    """Return the data's columns by lower-case name; none if only the data or a query defines them."""
    if source.preprocess is not None:
        return {}
    own = {vocabulary.event_time_column.lower(), vocabulary.operation_type_column.lower()}
    columns = {column.name.lower(): column for column in read_rules.columns(source.read)}
    return {name: column for name, column in columns.items() if name not in own}

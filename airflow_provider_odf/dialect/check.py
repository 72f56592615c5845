"""Check the SQL of manifests: queries without an exact translation, and missing output columns.

The import of the SQL parser takes a third of a second. So commands call this check, but DAG loaders do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from airflow_provider_odf import column_rules
from airflow_provider_odf.errors import Place, Problem
from airflow_provider_odf.manifest import ddl
from airflow_provider_odf.manifest import model as e
from airflow_provider_odf.manifest.manifest import Manifest
from airflow_provider_odf.manifest.model import TransformSql
from airflow_provider_odf.manifest.place_in_text import query_place
from airflow_provider_odf.protocol import DatasetVocabulary

_Source: TypeAlias = e.SetPollingSource | e.AddPushSource
_UNKNOWN = ("UNKNOWN", "VOID")


def check(manifests: Iterable[Manifest]) -> list[Problem]:
    """Return the problems of the queries of manifests that are valid otherwise."""
    return sorted(problem for manifest in manifests for problem in _manifest_problems(manifest))


def _manifest_problems(manifest: Manifest) -> Iterator[Problem]:
    events = manifest.snapshot.metadata
    vocabs = [event for event in events if isinstance(event, e.SetVocab)]
    vocabulary = ddl.vocabulary(vocabs[-1] if vocabs else None)
    for index, event in enumerate(events):
        if isinstance(event, _Source) and event.preprocess is not None:
            yield from _Preprocess(manifest, index, event, event.preprocess).problems(vocabulary)
        elif isinstance(event, e.SetTransform):
            yield from _transform_problems(manifest, index, event)


def check_columns(manifests: Sequence[Manifest]) -> list[Problem]:
    """Return the problems of queries with columns that the manifests of their inputs do not declare. A dataset in a
    store may have columns that its manifest declares no more, so these problems do not stop a run."""
    from airflow_provider_odf.dialect import declared_columns

    return sorted(declared_columns.problems(manifests))


def unchecked(manifests: Iterable[Manifest]) -> list[Problem]:
    """Return a warning for each query of Spark that only Spark can check."""
    from airflow_provider_odf.dialect import spark_check

    message = "only Spark can check this query: it has syntax that the validation does not know"
    return sorted(
        Problem(query_place(manifest, path, transform, number, 1, 1), message)
        for manifest in manifests
        for path, transform in _transforms(manifest)
        if transform.engine == "spark"
        for number, step in enumerate(transform.steps, 1)
        if spark_check.parsed(step.query) is None
    )


def _transforms(manifest: Manifest) -> Iterator[tuple[tuple[int, str], TransformSql]]:
    """Yield the queries of a manifest, with their path."""
    for index, event in enumerate(manifest.snapshot.metadata):
        if isinstance(event, _Source) and event.preprocess is not None:
            yield (index, "preprocess"), event.preprocess
        elif isinstance(event, e.SetTransform):
            yield (index, "transform"), event.transform


def _transform_problems(manifest: Manifest, index: int, event: e.SetTransform) -> Iterator[Problem]:
    from airflow_provider_odf.dialect import transform_check
    from airflow_provider_odf.dialect.place import QueryRefusal

    try:
        transform_check.check(event)
    except QueryRefusal as refusal:
        number, line, column = refusal.number, refusal.line, refusal.column
        place = query_place(manifest, (index, "transform"), event.transform, number, line, column)
        yield Problem(place, refusal.message, refusal.advice)


@dataclass(frozen=True)
class _Preprocess:
    """The preprocess step of one source in a manifest."""

    manifest: Manifest
    index: int
    source: _Source
    transform: TransformSql

    def problems(self, vocabulary: DatasetVocabulary) -> Iterator[Problem]:
        from airflow_provider_odf.dialect.place import QueryRefusal
        from airflow_provider_odf.dialect.translate import input_columns, translate

        try:
            self._check_spark()
            read = input_columns(ddl.read_step(self.source.read))
            columns = translate(self.transform, {"input": read}).columns
        except QueryRefusal as refusal:
            place = self._query_place(refusal.number, refusal.line, refusal.column)
            yield Problem(place, refusal.message, refusal.advice)
            return
        if columns.others is None:
            types = {name: "" if type_.name in _UNKNOWN else type_.name for name, type_ in columns.items}
            yield from self._columns(types, vocabulary)

    def _check_spark(self) -> None:
        """:raises QueryRefusal: Spark refuses a query."""
        if self.transform.engine == "spark":
            from airflow_provider_odf.dialect import spark_check
            from airflow_provider_odf.dialect.place import Refusal, with_place

            for number, step in enumerate(self.transform.steps, 1):
                try:
                    spark_check.check(step.query)
                except Refusal as refusal:
                    raise with_place(refusal, step.query, number) from refusal

    def _columns(self, types: dict[str, str], vocabulary: DatasetVocabulary) -> Iterator[Problem]:
        """Yield problems with the columns that the merge needs."""
        merge = ddl.merge_strategy(self.source.merge)
        for problem in column_rules.check(types, vocabulary, merge, "the output of preprocess"):
            if problem.part == "columns":
                place = self._query_place(len(self.transform.queries or ()), 0, 0)
            elif problem.part == "merge":
                place = self._place("merge")
            else:
                place = self._place("merge", problem.part, [*getattr(merge, problem.part)].index(problem.name))
            yield Problem(place, problem.message, problem.fix)

    def _place(self, *path: str | int) -> Place:
        return self.manifest.place("metadata", self.index, *path)

    def _query_place(self, number: int, line: int, column: int) -> Place:
        return query_place(self.manifest, (self.index, "preprocess"), self.transform, number, line, column)

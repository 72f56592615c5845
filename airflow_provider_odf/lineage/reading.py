"""How a merge reads its source, and which columns of the source the dataset's columns are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.lineage.columns import ColumnLineage, column_lineage
from airflow_provider_odf.manifest import ddl, model

if TYPE_CHECKING:
    from airflow_provider_odf.protocol import DatasetVocabulary, Transform

INPUT = "input"
"""Name of the source in preprocess queries."""


@dataclass(frozen=True)
class Reading:
    """How a merge reads its source. ``columns`` are the declared ones, None if they are those of the files;
    ``added`` are columns of the dataset that come from no source."""

    columns: tuple[str, ...] | None = None
    preprocess: Transform | None = None
    added: frozenset[str] = frozenset()

    def lineage(self, names: Sequence[str]) -> ColumnLineage:
        """Return the lineage of columns of the dataset, from the table `INPUT`: by preprocess, else each from its
        namesake."""
        output = [name for name in names if name not in self.added]
        query = self.preprocess
        if query is None:
            kept = [name for name in output if self.columns is None or name in self.columns]
            return ColumnLineage.of_namesakes(INPUT, kept)
        tables = {INPUT: self.columns or tuple({*output, *_words(query)})}
        return column_lineage(query.engine, query.queries, tables)


def reading_of(source: model.SetPollingSource | model.AddPushSource, vocab: DatasetVocabulary) -> Reading:
    """Return how merges read a source."""
    declared = ddl.columns(source.read)
    names = tuple(column.name for column in declared) if declared is not None else None
    added = {vocab.offset_column, vocab.operation_type_column, vocab.system_time_column}
    if vocab.event_time_column == protocol.DatasetVocabulary().event_time_column and source.preprocess is None:
        added.add(vocab.event_time_column)  # where the source has none, the engine adds it
    query = transform_of(source.preprocess) if source.preprocess is not None else None
    return Reading(names, query, frozenset(added - set(names or ())))


def transform_of(sql: model.TransformSql) -> protocol.Transform:
    """Return the queries as the manifest has them."""
    return protocol.Transform(sql.engine, tuple(protocol.SqlQueryStep(step.query, step.alias) for step in sql.steps))


def _words(query: Transform) -> Iterable[str]:
    """Return what may be a column of the source in a query."""
    words = [re.findall(r"\w+|(?<=[`\"])[^`\"]+(?=[`\"])", step.query) for step in query.queries]
    return {word.lower(): word for found in words for word in found}.values()

"""Lineage of columns: which columns of its inputs or of its source each column is made of, and which ones decide about
the rows. It follows from the SQL of a derivative or of a preprocess step, and from merges, which keep columns."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_provider_odf.lineage.column_uses import DIRECT, NONE, OPEN, UNKNOWN, Relation, Source, Use, Uses, Way
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.protocol import DatasetVocabulary, SqlQueryStep, Transform

if TYPE_CHECKING:
    from sqlglot import exp

log = logging.getLogger(__name__)

INPUT = "input"
"""Name of the source in preprocess queries."""


@dataclass(frozen=True, order=True)
class Origin:
    """A column of an input, which queries know as ``table``, and how it is used: directly, in the strongest way, or
    indirectly. ``is_masking`` says that no use in that way shows its values."""

    table: str
    column: str
    way: Way
    is_masking: bool = False


@dataclass(frozen=True)
class ColumnLineage:
    """The lineage of the columns of a query. ``spelled`` are columns and tables by their plain names."""

    relation: Relation = OPEN
    spelled: Mapping[Source, Source] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_namesakes(cls, table: str, columns: Sequence[str]) -> ColumnLineage:
        """Return the lineage of columns that are those of one table."""
        uses = ((_plain(name), _identity(table, name)) for name in columns)
        return cls(Relation(tuple(uses)), {Source(table, name): Source(table, name) for name in columns})

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, as the query spells them first."""
        return tuple(dict.fromkeys(self.names.get(name, name) for name, _ in self.relation.columns))

    @property
    def is_complete(self) -> bool:
        """Whether the names of all columns are known."""
        return self.relation.others is None

    def has(self, column: str) -> bool:
        """Whether the query makes a column, as far as it is known."""
        return self.relation.get(_plain(column)) is not None

    def of(self, column: str) -> tuple[Origin, ...]:
        """Return what a column is made of, and what decides about its values."""
        return self._origins(self.relation.get(_plain(column)) or NONE)

    @property
    def rows(self) -> tuple[Origin, ...]:
        """What decides which rows there are, or their order."""
        return self._origins(self.relation.rows)

    def is_resolved(self, column: str) -> bool:
        """Whether all columns are known of which a column is made, and those that decide about the rows."""
        uses = self.relation.get(_plain(column))
        return uses is not None and all(use.source != UNKNOWN for use in (*uses, *self.relation.rows))

    def _origins(self, uses: Uses) -> tuple[Origin, ...]:
        """Return columns of inputs with the ways in which they are used: the strongest direct one, and all others."""
        ways: dict[tuple[Source, Way | None], list[Use]] = {}
        for use in uses:
            if use.source in self.spelled:
                ways.setdefault((use.source, None if use.way in DIRECT else use.way), []).append(use)
        origins: list[Origin] = []
        for (source, _), some in ways.items():
            strongest = max((use.way for use in some), key=lambda way: DIRECT.index(way) if way in DIRECT else 0)
            origins.append(Origin(*self.spelled[source], strongest, all(use.is_masking for use in some)))
        return tuple(sorted(origins))


def column_lineage(engine: str, steps: Sequence[SqlQueryStep], tables: Mapping[str, Sequence[str]]) -> ColumnLineage:
    """Return the lineage of the columns of the last query. Nothing of it is resolved where the query cannot be
    analyzed, as for SQL that sqlglot does not parse.

    :param tables: columns of the inputs, by name in the queries. Nothing is known of other tables.
    """
    from airflow_provider_odf.dialect import parsing

    try:
        with parsing.room():
            return _column_lineage(engine, steps, tables)
    except Exception as e:  # The query has run: a gap of the analysis must not hide the lineage of datasets.
        log.info("no column lineage: the query cannot be analyzed: %s", type(e).__name__)
        return ColumnLineage()


def _column_lineage(engine: str, steps: Sequence[SqlQueryStep], tables: Mapping[str, Sequence[str]]) -> ColumnLineage:
    from airflow_provider_odf.lineage.query_uses import relation

    names: dict[str, str] = {}
    known = {
        _plain(table): Relation(tuple((_plain(c), _identity(_plain(table), _plain(c))) for c in columns))
        for table, columns in tables.items()
    }
    for step in steps:
        made = relation(_parsed(engine, step.query, names), known)
        known[_plain(step.alias or "")] = made
    spelled = {
        Source(_plain(table), _plain(column)): Source(table, column)
        for table, columns in tables.items()
        for column in columns
    }
    names |= {_plain(column): column for columns in tables.values() for column in columns}
    return ColumnLineage(made.with_any_names, spelled, names)


def _identity(table: str, column: str) -> Uses:
    return frozenset([Use(Source(table, column), "IDENTITY")])


def _plain(name: str) -> str:
    """Return a name that needs no quotes: parsers read the points in names of datasets as those of schemas. Names are
    in lower case, since no two of them differ only in case."""
    return re.sub(r"\W", lambda char: f"_{ord(char[0]):x}_", name.lower())


def _parsed(engine: str, query: str, names: dict[str, str]) -> exp.Query:
    """Return the tree of a query with plain names; ``names`` gets how they are spelled."""
    from sqlglot import Dialect, exp

    from airflow_provider_odf.dialect import parsing
    from airflow_provider_odf.dialect.translate import ENGINES

    known = ENGINES.get(engine)
    dialect = Dialect.get_or_raise(known.dialect if known else "spark" if engine == "spark" else "postgres")
    tokens = dialect.tokenize(query)
    parsing.check_nesting(tokens)
    (tree,) = dialect.parser().parse(tokens, query)
    tree = known.query(tree) if known and tree else tree
    if not isinstance(tree, exp.Query):
        raise ValueError("it is not a SELECT")
    for identifier in tree.find_all(exp.Identifier):
        names.setdefault(_plain(identifier.name), identifier.name)
        identifier.set("this", _plain(identifier.name))
        identifier.set("quoted", False)
    return tree


# --- sources --------------------------------------------------------------------------------------------------------


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
    if vocab.event_time_column == DatasetVocabulary().event_time_column and source.preprocess is None:
        added.add(vocab.event_time_column)  # where the source has none, the engine adds it
    query = transform_of(source.preprocess) if source.preprocess is not None else None
    return Reading(names, query, frozenset(added - set(names or ())))


def transform_of(sql: model.TransformSql) -> Transform:
    """Return the queries as the manifest has them."""
    return Transform(sql.engine, tuple(SqlQueryStep(step.query, step.alias) for step in sql.steps))


def _words(query: Transform) -> Iterable[str]:
    """Return what may be a column of the source in a query."""
    words = [re.findall(r"\w+|(?<=[`\"])[^`\"]+(?=[`\"])", step.query) for step in query.queries]
    return {word.lower(): word for some in words for word in some}.values()

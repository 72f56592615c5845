"""Check the SQL of manifests: queries without an exact translation, and missing columns.

A refusal here is certain. Spark, DataFusion and the translations find the other problems once the inputs have data. The
import of the SQL parser takes a third of a second. So commands import this check, but DAG loaders do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from airflow_provider_odf import column_rules
from airflow_provider_odf.datafusion import NAME as DATAFUSION
from airflow_provider_odf.datafusion.query_text import QueryProblem
from airflow_provider_odf.dialect import parsing, spark_check, translate
from airflow_provider_odf.dialect.parsing import Refusal, at, with_place
from airflow_provider_odf.dialect.translate import TRANSFORM_ENGINES, Input, input_columns, spark_columns
from airflow_provider_odf.dialect.types import EVERY_COLUMN, Columns, column_type
from airflow_provider_odf.errors import Problem
from airflow_provider_odf.manifest import ddl
from airflow_provider_odf.manifest import model as e
from airflow_provider_odf.manifest.manifest import Manifest
from airflow_provider_odf.manifest.names import DatasetAlias, parse_ref
from airflow_provider_odf.protocol import Column, DatasetVocabulary, SqlQueryStep
from airflow_provider_odf.read_steps import READ_STEPS
from airflow_provider_odf.run_functions import ONLY_IN_PLANS, RUN_FUNCTIONS

if TYPE_CHECKING:
    from airflow_provider_odf.dialect.engine import Engine
    from airflow_provider_odf.manifest.model import TransformSql

_Source: TypeAlias = e.SetPollingSource | e.AddPushSource
_Path: TypeAlias = tuple[int, str]

_UNKNOWN = ("UNKNOWN", "VOID")
_DIALECTS = {"spark": "spark", DATAFUSION: "postgres"}
"""Engine that runs its own SQL -> the most similar dialect of the parser."""
_KEYWORDS = (TokenType.CURRENT_DATE, TokenType.CURRENT_TIME, TokenType.CURRENT_TIMESTAMP)
"""Functions without parentheses."""
_SYSTEM_TYPES = ("BIGINT", "INT", "TIMESTAMP", "TIMESTAMP")
"""Types of the system columns, in the order of the vocabulary."""


def check(manifests: Iterable[Manifest]) -> list[Problem]:
    """Return the problems of the queries of manifests that are valid otherwise."""
    return sorted(problem for manifest in manifests for problem in _manifest_problems(manifest))


def check_columns(manifests: Sequence[Manifest]) -> list[Problem]:
    """Return the problems of transforms over the columns that manifests declare: those of a root with a schema, and of
    a derivative whose result has named columns. A dataset in a store may have columns that its manifest declares no
    more, so these problems do not stop a run."""
    declared = _Declared({manifest.snapshot.alias: manifest for manifest in manifests})
    return sorted(
        problem
        for manifest in manifests
        for path, event, sql in _queries(manifest)
        if isinstance(event, e.SetTransform)
        for problem in _refusals(manifest, path, sql, partial(_check_declared, event, declared))
    )


def unchecked(manifests: Iterable[Manifest]) -> list[Problem]:
    """Return a warning for each query of Spark that only Spark can check."""
    message = "only Spark can check this query: it has syntax that the validation does not know"
    return sorted(
        Problem(manifest.query_place(path, sql, number, 1, 1), message)
        for manifest in manifests
        for path, _, sql in _queries(manifest)
        if sql.engine == "spark"
        for number, step in enumerate(sql.steps, 1)
        if spark_check.parsed(step.query) is None
    )


def _queries(manifest: Manifest) -> Iterator[tuple[_Path, _Source | e.SetTransform, TransformSql]]:
    for index, event in enumerate(manifest.snapshot.metadata):
        if isinstance(event, _Source) and event.preprocess is not None:
            yield (index, "preprocess"), event, event.preprocess
        elif isinstance(event, e.SetTransform):
            yield (index, "transform"), event, event.transform


def _refusals(manifest: Manifest, path: _Path, sql: TransformSql, run: Callable[[], object]) -> Iterator[Problem]:
    """Yield the problem of queries that a check refuses."""
    try:
        run()
    except QueryProblem as refusal:
        yield _problem(manifest, path, sql, refusal)


def _problem(manifest: Manifest, path: _Path, sql: TransformSql, refusal: QueryProblem) -> Problem:
    place = manifest.query_place(path, sql, refusal.number, refusal.line, refusal.column)
    return Problem(place, refusal.message, refusal.advice)


def _manifest_problems(manifest: Manifest) -> Iterator[Problem]:
    for path, event, sql in _queries(manifest):
        if isinstance(event, e.SetTransform):
            yield from _refusals(manifest, path, sql, partial(_check_transform, event))
            continue
        try:
            columns = _output(event, sql)
        except QueryProblem as refusal:
            yield _problem(manifest, path, sql, refusal)
        else:
            yield from _column_problems(manifest, path, event, sql, columns) if columns.others is None else ()


# --- preprocess ---


def _output(source: _Source, sql: TransformSql) -> Columns:
    """Return the columns of preprocess.

    :raises QueryProblem: a query is not valid."""
    if sql.engine == "spark":
        for number, step in enumerate(sql.steps, 1):
            try:
                spark_check.check(step.query)
            except Refusal as refusal:
                raise with_place(refusal, step.query, number) from refusal
    return translate.translate(sql, {"input": input_columns(ddl.read_step(source.read))}).columns


def _column_problems(
    manifest: Manifest, path: _Path, source: _Source, sql: TransformSql, columns: Columns
) -> Iterator[Problem]:
    types = {name: "" if type_.name in _UNKNOWN else type_.name for name, type_ in columns.items}
    vocabs = [event for event in manifest.snapshot.metadata if isinstance(event, e.SetVocab)]
    vocabulary = ddl.vocabulary(vocabs[-1] if vocabs else None)
    merge = ddl.merge_strategy(source.merge)
    for problem in column_rules.check(types, vocabulary, merge, "the output of preprocess"):
        if problem.part == "columns":
            place = manifest.query_place(path, sql, len(sql.queries or ()), 0, 0)
        elif problem.part == "merge":
            place = manifest.place("metadata", path[0], "merge")
        else:
            index = [*getattr(merge, problem.part)].index(problem.name)
            place = manifest.place("metadata", path[0], "merge", problem.part, index)
        yield Problem(place, problem.message, problem.fix)


# --- transforms, whatever columns the inputs have ---


def _check_transform(event: e.SetTransform) -> None:
    """:raises QueryProblem: a query is not valid, whatever columns the inputs have."""
    names = _input_names(event)
    steps = translate.query_steps(event.transform, names or ())
    tables = set(map(str.lower, names)) if names is not None else None
    for number, step in enumerate(steps, 1):
        _check_step(step, number, event.transform.engine, tables)
        if tables is not None:
            tables.add((step.alias or "").lower())
    if event.transform.engine == DATAFUSION and names is not None:
        translate.planned_columns(steps, dict.fromkeys(names))


def _input_names(event: e.SetTransform) -> Sequence[str] | None:
    """Return the names of the inputs in queries, or None if not all are known without a store."""
    names = [
        item.alias or (item.dataset_ref if isinstance(parse_ref(item.dataset_ref), DatasetAlias) else None)
        for item in event.inputs
    ]
    known = [name for name in names if name is not None]
    return known if len(known) == len(names) else None


def _check_step(step: SqlQueryStep, number: int, name: str, tables: set[str] | None) -> None:
    engine = None if name in _DIALECTS else translate.of_name(TRANSFORM_ENGINES, name)
    dialect = Dialect.get_or_raise(engine.dialect if engine else _DIALECTS[name])
    try:
        if name == "spark":
            spark_check.check(step.query)
        with parsing.room():
            tree = _parsed(step.query, dialect, engine)
            for token in _calls_of_run(dialect.tokenize(step.query)):
                advice = "take times and values from the data, or quote the name if it is a column"
                raise Refusal(at(token), f"{token.text} has another value in each run", advice)
            if tree is not None and tables is not None and name != DATAFUSION:
                _check_tables(tree, tables)
    except (Refusal, SqlglotError, RecursionError) as error:
        if isinstance(error, Refusal) or engine is not None:
            raise with_place(error, step.query, number) from error


def _parsed(query: str, dialect: Dialect, engine: Engine | None) -> exp.Expr | None:
    """Return the statement of a query; None if Spark or DataFusion may know SQL that this parser does not.

    :raises Refusal, SqlglotError: the query is not valid for a translated engine.
    """
    try:
        tree = parsing.parse(query, dialect)
    except (Refusal, SqlglotError, RecursionError):
        if engine is not None:
            raise
        return None
    return engine.query(tree) if engine is not None else tree


def _calls_of_run(tokens: Sequence[Token]) -> Iterator[Token]:
    before: Token | None = None
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        is_call = after is not None and after.token_type == TokenType.L_PAREN
        is_quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
        is_part = before is not None and before.token_type in (TokenType.DOT, TokenType.ALIAS)
        is_function = (is_call or token.token_type in _KEYWORDS) and not is_quoted and not is_part
        if is_function and token.text.lower() in RUN_FUNCTIONS and token.text.lower() not in ONLY_IN_PLANS:
            yield token
        before = token


def _check_tables(tree: exp.Expr, known: set[str]) -> None:
    """:raises Refusal: the query reads a table that is neither an input nor an earlier query."""
    named = known | {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        names = [part.name for part in table.parts if isinstance(part, exp.Identifier)]
        if len(names) != len(table.parts) or (len(names) == 1 and names[0].lower() in named):
            continue  # A function in FROM has other parts.
        tables = f"tables: {', '.join(sorted(filter(None, known)))}"
        advice = "quote a name with dots as a whole" if len(names) > 1 else tables
        raise Refusal(table, f"table {'.'.join(names)} does not exist", advice)


# --- transforms over declared columns ---


def _check_declared(event: e.SetTransform, declared: _Declared) -> None:
    """:raises QueryProblem: a column does not exist, or the engine refuses the query for the types of the columns."""
    inputs = declared.inputs(event)
    if inputs is None:
        return
    if event.transform.engine == "spark":
        _check_names(event, inputs)
    elif all(column_type(column.type).is_known for i in inputs.values() for column in i.columns):
        translate.translate(event.transform, {}, inputs)


def _check_names(event: e.SetTransform, inputs: Mapping[str, Input]) -> None:
    tables = {name.lower(): {column.name.lower() for column in i.columns} for name, i in inputs.items()}
    columns = set[str]().union(*tables.values())
    for number, step in enumerate(event.transform.steps, 1):
        try:
            spark_check.check_columns(step.query, tables, columns)
        except Refusal as refusal:
            raise with_place(refusal, step.query, number) from refusal
        alias, result = (step.alias or "").lower(), spark_columns(step.query)
        if result.others is None:
            own = {name.lower() for name, _ in result.items}
        elif not spark_check.has_names(step.query, (*tables, alias)):
            return
        else:
            own = columns | spark_check.given_names(step.query)
        tables[alias] = own
        columns |= own


@dataclass(frozen=True)
class _Declared:
    """Columns of datasets, by their manifests."""

    manifests: Mapping[DatasetAlias, Manifest]
    _known: dict[DatasetAlias, Input | None] = field(default_factory=dict)

    def inputs(self, event: e.SetTransform) -> dict[str, Input] | None:
        """Return the inputs of a transform by their names in queries, or None if the manifest of one does not say its
        columns."""
        inputs = {}
        for item in event.inputs:
            ref = parse_ref(item.dataset_ref)
            declared = self._dataset(ref) if isinstance(ref, DatasetAlias) else None
            if declared is None:
                return None
            inputs[item.alias or item.dataset_ref] = declared
        return inputs

    def _dataset(self, alias: DatasetAlias) -> Input | None:
        if alias not in self._known:
            self._known[alias] = None  # a dataset that reads itself
            manifest = self.manifests.get(alias)
            if manifest is not None:
                self._known[alias] = self._input(manifest)
        return self._known[alias]

    def _input(self, manifest: Manifest) -> Input | None:
        events = manifest.snapshot.metadata
        if any(isinstance(event, e.SetDataSchema) for event in events):
            return None
        columns: list[Column] = []
        for event in events:
            own: Columns | None = Columns()
            if isinstance(event, _Source):
                own = _source_columns(event)
            elif isinstance(event, e.SetTransform):
                own = self._transform_columns(event)
            if own is None or own.others is not None:
                return None
            columns += [Column(name, type_.ddl if type_.is_known else "") for name, type_ in own.items]
        vocabulary = ddl.vocabulary(manifest.snapshot.last(e.SetVocab))
        is_derivative = any(isinstance(event, e.SetTransform) for event in events)
        return Input(_with_system_columns(columns, vocabulary), vocabulary, is_derivative)

    def _transform_columns(self, event: e.SetTransform) -> Columns | None:
        if event.transform.engine == "spark":
            return spark_columns(event.transform.steps[-1].query)
        inputs = self.inputs(event)
        try:
            return translate.translate(event.transform, {}, inputs).columns if inputs is not None else None
        except QueryProblem:
            return None


def _source_columns(source: _Source) -> Columns | None:
    if READ_STEPS[source.read.kind].has_geometry:  # a column that the schema need not have
        return None
    read = input_columns(ddl.read_step(source.read))
    try:
        if source.preprocess is not None:
            return translate.translate(source.preprocess, {"input": read}).columns
    except QueryProblem:
        return None
    if read is None or any(column.name == EVERY_COLUMN for column in read):
        return None
    return Columns.declared(read)


def _with_system_columns(columns: Sequence[Column], vocabulary: DatasetVocabulary) -> tuple[Column, ...]:
    """Return the system columns, which a dataset has even if no source or query declares them, and the others."""
    system = [Column(name, type_) for name, type_ in zip(vocabulary.columns, _SYSTEM_TYPES, strict=True)]
    names = {name.lower() for name in vocabulary.columns}
    return (*system, *(column for column in columns if column.name.lower() not in names))

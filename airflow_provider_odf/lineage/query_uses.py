"""The columns of a query, each with the columns of tables that it is made of, and those that decide about its rows.

Names in the tree are in lower case. What cannot be resolved is a use of `UNKNOWN`, never a missing use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from airflow_provider_odf.lineage.column_uses import (
    NONE,
    NOT_FOLLOWED,
    NOT_RESOLVED,
    OPEN,
    Relation,
    Uses,
    Way,
    union,
    used,
)
from airflow_provider_odf.lineage.expression_uses import makes_rows, name_of, parts

_KNOWN_CLAUSES = frozenset((
    "with_", "expressions", "from_", "joins", "laterals", "where", "group", "having", "qualify", "order", "sort",
    "cluster", "distribute", "distinct", "windows", "limit", "offset", "hint", "kind", "locks", "into",
    "operation_modifiers", "sample", "settings", "format", "options",
))  # fmt: skip
"""Clauses of a SELECT that are followed, or use no columns."""


@dataclass(frozen=True)
class _Names:
    """What names mean in a query: ``tables`` are common table expressions and inputs, ``sources`` those in FROM,
    ``aliases`` the columns of SELECT. ``outer`` is the query around it."""

    tables: Mapping[str, Relation]
    sources: Mapping[str, Relation] = field(default_factory=dict)
    aliases: Mapping[str, exp.Expr] = field(default_factory=dict)
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    outer: _Names | None = None


def relation(query: exp.Expr, tables: Mapping[str, Relation]) -> Relation:
    """Return the columns of a query over tables."""
    return _query(query, _Names(tables))


def _query(node: exp.Expr, names: _Names) -> Relation:
    names = _with(node, names)
    match node:
        case exp.Select():
            return _select(node, names)
        case exp.SetOperation():
            return _set_operation(node, names)
        case exp.Subquery():
            inner = _joined(node, names) if isinstance(node.this, exp.Table) else _query(node.this, names)
            return replace(inner, rows=inner.rows | _order(node, replace(names, sources={"": inner})))
        case exp.Values():
            return Relation(others=union(_uses(child, names) for child in node.expressions))
        case exp.Table():
            return _joined(node, names)
        case _:
            return NOT_FOLLOWED


def _with(node: exp.Expr, names: _Names) -> _Names:
    """Return the names with the common table expressions of a query. One that names itself is computed until nothing
    new comes."""
    clause = node.args.get("with_")
    if clause is None:
        return names
    tables = dict(names.tables)
    for cte in clause.expressions:
        if clause.args.get("recursive"):
            tables[cte.alias] = Relation(others=NONE)
        made = _renamed(_query(cte.this, replace(names, tables=tables)), cte)
        while clause.args.get("recursive"):
            tables[cte.alias] = made
            again = _renamed(_query(cte.this, replace(names, tables=tables)), cte)
            if again == made:
                break
            made = again
        tables[cte.alias] = made
    return replace(names, tables=tables)


def _renamed(made: Relation, node: exp.Expr) -> Relation:
    """Return a relation with the columns that an alias such as ``t (a, b)`` names."""
    alias = node.args.get("alias")
    wanted = [column.name for column in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
    if not wanted:
        return made
    uses = [uses for _, uses in made.columns] if made.others is None else [made.everything] * len(wanted)
    return replace(made, columns=tuple(zip(wanted, uses, strict=False)))


def _set_operation(node: exp.SetOperation, names: _Names) -> Relation:
    """Return the columns of UNION, or those of the left side, of which EXCEPT and INTERSECT choose rows."""
    left, right = _query(node.left, names), _query(node.right, names)
    if node.args.get("by_name") or left.others is not None or right.others is not None:
        every = left.everything | right.everything
        return Relation(left.columns, left.rows | right.rows | used(every, "FILTER"), every)
    rows = left.rows | right.rows
    columns = left.columns
    if isinstance(node, exp.Union):
        pairs = zip(left.columns, right.columns, strict=False)
        columns = tuple((name, uses | others) for (name, uses), (_, others) in pairs)
    else:
        rows |= used(right.everything, "FILTER")
    if node.args.get("distinct"):
        rows |= union(used(uses, "GROUP_BY") for _, uses in columns)
    made = Relation(columns, rows)
    return replace(made, rows=rows | _order(node, replace(names, sources={"": made})))


def _select(node: exp.Select, names: _Names) -> Relation:
    sources, rows = _from(node, names)
    inner = replace(
        names,
        sources=sources,
        aliases={item.alias: item.this for item in node.expressions if isinstance(item, exp.Alias)},
        windows={window.this.name: window for window in node.args.get("windows") or ()},
        outer=names if names.sources else names.outer,
    )
    columns = tuple(column for item in node.expressions for column in _columns(item, inner))
    is_open = any(name == "*" for name, _ in columns)
    generators = (i for i in node.expressions if makes_rows(i.this if isinstance(i, exp.Aliases) else i.unalias()))
    rows |= union(used(_uses(item, inner), "FILTER") for item in generators)
    rows |= _clauses(node, inner)
    if distinct := node.args.get("distinct"):
        rows |= used(_uses(distinct, inner) or union(uses for _, uses in columns), "GROUP_BY")
    if any(value for key, value in node.args.items() if key not in _KNOWN_CLAUSES):
        rows |= NOT_RESOLVED
    others = union(uses for name, uses in columns if name == "*") if is_open else None
    return Relation(tuple(column for column in columns if column[0] != "*"), rows, others)


def _clauses(node: exp.Select, names: _Names) -> Uses:
    conditions = [node.args[key] for key in ("where", "having", "qualify") if node.args.get(key)]
    rows = [used(_uses(condition, names), "FILTER") for condition in conditions]
    if group := node.args.get("group"):
        keys = node.expressions if group.args.get("all") else [*group.iter_expressions()]
        keys = [item for item in keys if not item.find(exp.AggFunc)] if group.args.get("all") else keys
        rows += [used(_uses(_at(key, node), names), "GROUP_BY") for key in keys]
    rows.append(_order(node, names))
    return union(rows)


def _order(node: exp.Expr, names: _Names) -> Uses:
    clauses = [node.args.get(key) for key in ("order", "sort", "cluster", "distribute")]
    items = [item for clause in clauses if clause is not None for item in clause.expressions]
    selected = node if isinstance(node, exp.Select) else None
    return union(used(_sort_key(_at(item, selected), names), "SORT") for item in items)


def _sort_key(node: exp.Expr, names: _Names) -> Uses:
    """Return the uses by a key of ORDER BY, in which names of SELECT come before those of FROM."""
    value = node.this if isinstance(node, exp.Ordered) else node
    if isinstance(value, exp.Column) and not value.table and value.name in names.aliases:
        value = names.aliases[value.name]
    return _uses(value, names)


def _at(node: exp.Expr, select: exp.Select | None) -> exp.Expr:
    """Return the column of SELECT that a number in GROUP BY or ORDER BY means."""
    value = node.this if isinstance(node, exp.Ordered) else node
    if select is not None and isinstance(value, exp.Literal) and not value.is_string and value.name.isdigit():
        number = int(value.name)
        return select.expressions[number - 1] if 0 < number <= len(select.expressions) else node
    return node


def _from(node: exp.Expr, names: _Names) -> tuple[dict[str, Relation], Uses]:
    """Return the relations of FROM by name, and the uses that decide about their rows."""
    sources: dict[str, Relation] = {}
    rows = NONE
    clause = node.args.get("from_")
    first = [clause.this] if clause is not None else [node] if isinstance(node, exp.Table) else []
    for item in [*first, *(node.args.get("joins") or ()), *(node.args.get("laterals") or ())]:
        join = item if isinstance(item, exp.Join) else None
        inner = replace(names, sources=sources, outer=names)
        source = join.this if join else item
        name, made = _source(source, inner)
        keys = _join_keys(join, sources, made)
        is_hidden = join is not None and join.kind in ("SEMI", "ANTI")
        joined = {**sources, name or f" {len(sources)}": made}
        if join is not None and join.args.get("on") is not None:
            keys |= _uses(join.args["on"], replace(names, sources=joined))
        rows |= made.rows | used(keys, "JOIN")
        sources = sources if is_hidden else joined
        if not is_hidden and isinstance(source, exp.Table | exp.Subquery) and item is not node:
            more, of_joins = _nested_joins(source, replace(names, sources=sources))
            sources, rows = {**sources, **more}, rows | of_joins
    return sources, rows


def _nested_joins(node: exp.Expr, names: _Names) -> tuple[Mapping[str, Relation], Uses]:
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not node.alias:
        return _from(node.this, names)
    if not any(node.args.get(key) for key in ("joins", "laterals")):
        return {}, NONE
    rest = exp.Select(joins=node.args.get("joins"), laterals=node.args.get("laterals"))
    return _from(rest, names)


def _join_keys(join: exp.Join | None, sources: Mapping[str, Relation], made: Relation) -> Uses:
    """Return the uses of the columns that USING or NATURAL compare."""
    if join is None:
        return NONE
    if str(join.args.get("method") or "").upper() == "NATURAL":
        keys = [name for name, _ in made.columns if any(source.has(name) for source in sources.values())]
        is_open = any(source.others is not None for source in (made, *sources.values()))
        return union(_everywhere(key, [*sources.values(), made]) for key in keys) | (NOT_RESOLVED if is_open else NONE)
    return union(_everywhere(key.name, [*sources.values(), made]) for key in join.args.get("using") or ())


def _everywhere(name: str, sources: Sequence[Relation]) -> Uses:
    return union(source.get(name) or NONE for source in sources)


def _source(node: exp.Expr, names: _Names) -> tuple[str, Relation]:
    """Return the name and the columns of what FROM has."""
    if node.args.get("pivots") or node.args.get("match_recognize"):
        return node.alias_or_name, NOT_FOLLOWED
    made = _table(node, names)
    version = node.args.get("version")  # FOR SYSTEM_TIME AS OF
    if isinstance(node, exp.Table) and version is not None and version.expression:
        made = replace(made, rows=made.rows | used(_uses(version.expression, names), "JOIN"))
    return node.alias_or_name, _renamed(made, node)


def _table(node: exp.Expr, names: _Names) -> Relation:
    match node:
        case exp.Table(this=exp.Identifier()):
            return names.tables.get(node.name, OPEN) if not node.args.get("db") else OPEN
        case exp.Table(this=exp.Func()):
            return _window_table(node.this, names)
        case exp.Lateral(this=exp.Query() | exp.Subquery()):
            return _query(node.this, names)
        case exp.Lateral() | exp.Unnest():
            aliases = (exp.TableAlias, exp.Identifier)
            value = union(_uses(child, names) for child in node.iter_expressions() if not isinstance(child, aliases))
            made = used(value, "TRANSFORMATION")
            return Relation(rows=used(value, "FILTER"), others=made)
        case exp.Query() | exp.Subquery() | exp.Values():
            return _query(node, names.outer or names)
        case _:
            return NOT_FOLLOWED


def _window_table(node: exp.Expr, names: _Names) -> Relation:
    """Return the rows of a table with the windows that a function such as ``TUMBLE(TABLE t, DESCRIPTOR(time), …)``
    adds; of another function, a column may be anything in its arguments."""
    first, *others = node.expressions or [None]
    table = first.this if isinstance(first, exp.Column) and not first.table else first
    name = table.name if isinstance(table, exp.Identifier | exp.Table) else ""
    if name in names.tables and node.name.lower() in ("tumble", "hop", "cumulate", "session"):
        rows = names.tables[name]
        time = union(_uses(child, replace(names, sources={name: rows})) for child in others)
        return replace(rows, others=used(time, "TRANSFORMATION") | (rows.others or NONE))
    value = _uses(node, names)
    return Relation(rows=used(value, "FILTER"), others=used(value, "TRANSFORMATION"))


def _joined(node: exp.Expr, names: _Names) -> Relation:
    """Return all columns of a table, or of joined tables in parentheses."""
    inner = node.this if isinstance(node, exp.Subquery) else node
    sources, rows = _from(inner, names)
    columns = tuple(column for source in sources.values() for column in source.columns)
    is_open = any(source.others is not None for source in sources.values())
    return Relation(columns, rows, union(s.others or NONE for s in sources.values()) if is_open else None)


def _columns(item: exp.Expr, names: _Names) -> Iterator[tuple[str, Uses]]:
    """Yield the columns of an item of SELECT. The name ``*`` stands for columns that are not known, and the empty name
    for one that the engine names."""
    if item.is_star:
        yield from _star(item, names)
    elif isinstance(item, exp.Aliases):
        uses = _uses(item, names)
        yield from ((alias.name, uses) for alias in item.expressions)
    elif makes_rows(item) and not isinstance(item, exp.Alias):
        yield "*", _uses(item, names)
    else:
        yield (item.alias_or_name if isinstance(item, exp.Alias | exp.Column) else ""), _uses(item, names)


def _star(item: exp.Expr, names: _Names) -> Iterator[tuple[str, Uses]]:
    star = item.this if isinstance(item, exp.Column) else item
    table = item.table if isinstance(item, exp.Column) else ""
    if table and table not in names.sources:
        yield "*", NOT_RESOLVED
        return
    left_out = {column.name for column in star.args.get("except_") or ()}
    replaced = {alias.alias: _uses(alias, names) for alias in star.args.get("replace") or ()}
    renamed = {alias.this.name: alias.alias for alias in star.args.get("rename") or ()}
    seen: dict[str, Uses] = {}
    for source in [names.sources[table]] if table else names.sources.values():
        for name, uses in source.columns:
            seen[name] = seen.get(name, NONE) | uses
        if source.others is not None:
            seen["*"] = seen.get("*", NONE) | source.others
    for name, uses in seen.items():
        if name not in left_out:
            yield renamed.get(name, name), replaced.get(name, uses)


def _uses(node: exp.Expr, names: _Names) -> Uses:
    match node:
        case exp.Column():
            return _column(node, names)
        case exp.Star():
            return union(uses for _, uses in _star(node, names))
        case exp.Func() if name_of(node) == "identifier":
            return NOT_RESOLVED
        case exp.Exists(this=exp.Query() | exp.Values()):
            return used(_nested(node.this, names).rows, "FILTER")
        case exp.Subquery() | exp.Query():
            made = _nested(node, names)
            return made.everything | made.rows
        case exp.Lambda():
            return used(_uses(node.this, names), "TRANSFORMATION")
        case exp.Window(args={"alias": exp.Identifier() as alias}) if alias.name not in names.windows:
            return union([NOT_RESOLVED, _of_parts(node, names)])
        case exp.Window(args={"alias": exp.Identifier() as alias}):
            return _of_parts(node, names) | _uses(names.windows[alias.name], names)
        case _:
            return _of_parts(node, names)


def _of_parts(node: exp.Expr, names: _Names) -> Uses:
    return union(used(_uses(part.node, names), part.way, is_masking=part.is_masking) for part in parts(node))


def _nested(node: exp.Expr, names: _Names) -> Relation:
    """Return the columns of a query inside of an expression, which may name columns of the query around it."""
    return _query(node, _Names(names.tables, outer=names))


def _column(node: exp.Column, names: _Names) -> Uses:
    """Return the uses of the column that a name means: of a source, of SELECT, or of the query around.

    ``a.b`` is the column ``b`` of ``a``, or a field of the column ``a``.
    """
    if isinstance(node.this, exp.Star):
        return union(uses for _, uses in _star(node, names))
    steps = [part.name for part in node.parts]
    at: _Names | None = names
    while at is not None:
        if (uses := _in_sources(steps, at)) is not None:
            return uses
        if steps[0] in at.aliases:
            return _field(_uses(at.aliases[steps[0]], replace(at, aliases={})), steps[1:])
        at = at.outer
    return NOT_RESOLVED


def _in_sources(steps: Sequence[str], names: _Names) -> Uses | None:
    if len(steps) > 1 and steps[0] in names.sources:
        uses = names.sources[steps[0]].get(steps[1])
        return _field(uses, steps[2:]) if uses is not None else None
    listed = [source for source in names.sources.values() if source.has(steps[0])]
    if listed:
        return _field(_everywhere(steps[0], listed), steps[1:])
    is_open = [source.others for source in names.sources.values() if source.others is not None]
    if not is_open or steps[0] in names.aliases:
        return None
    return _field(union(is_open), steps[1:])


def _field(uses: Uses, rest: Sequence[str]) -> Uses:
    """Return the uses of a field inside of a column."""
    way: Way = "TRANSFORMATION" if rest else "IDENTITY"
    return used(uses, way)

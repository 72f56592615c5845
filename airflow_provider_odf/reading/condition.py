"""A condition in SQL as an expression of pyarrow: DataFusion reads it, and says what pyarrow shall compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from airflow_provider_odf.datafusion.plan import session
from airflow_provider_odf.datafusion.query_text import advice_on_quotes, check_dates, problem
from airflow_provider_odf.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow.compute as pc

_TABLE = "rows"


def parse(text: str, schema: pa.Schema) -> pc.Expression:
    """Return a condition on columns.

    :raises InvalidInput: it is not valid SQL on these columns, or pyarrow cannot compute it.
    """
    from datafusion import Table

    check_dates(text, "condition")
    context, rows = session(), _Asked(schema)
    context.register_table(_TABLE, Table(rows))
    try:
        plan = context.table(_TABLE).filter(text).execution_plan().display_indent()
    except Exception as e:
        found = problem(e, text, 0)
        hint = advice_on_quotes(text, found.message)
        said = f"{found.message} ({hint})" if hint else str(found)
        raise InvalidInput(f"condition {text!r}: {said.replace(f'{_TABLE}.', '')}") from None
    if rows.condition is None or "FilterExec" in plan:
        raise InvalidInput(f"condition {text!r}: only SQL can compute it: use `store.sql` with WHERE instead")
    return rows.condition


class _Asked(ds.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """A dataset without rows that keeps the condition that it was asked for."""

    condition: pc.Expression | None = None

    def __init__(self, schema: pa.Schema) -> None:  # pyarrow forbids the constructor of its own class.
        self._schema = schema

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[Any]:
        return iter(())

    def scanner(self, columns: list[str] | None = None, filter: pc.Expression | None = None, **_: Any) -> Any:
        self.condition = filter
        return ds.dataset(self._schema.empty_table()).scanner(columns)

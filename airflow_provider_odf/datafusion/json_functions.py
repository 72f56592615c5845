"""JSON functions that the reference implementation adds to DataFusion, under internal names.

The package ``datafusion`` lacks them, and functions in Python have a fixed number of arguments. Therefore
``json_operators`` rewrites a call such as ``json_get_str(j, 'a', 0)`` to ``odf_json_get_str(j, '["a", 0]')``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_provider_odf.datafusion import json_values as values

if TYPE_CHECKING:
    from datafusion import SessionContext

PREFIX = "odf_"

_TEXTS = pa.list_(pa.string())
FUNCTIONS: Mapping[str, tuple[Callable[[str, int], Any], pa.DataType]] = {
    "json_as_text": (values.as_text, pa.string()),
    "json_contains": (lambda text, at: True, pa.bool_()),
    "json_get_array": (values.array, _TEXTS),
    "json_get_bool": (values.boolean, pa.bool_()),
    "json_get_float": (values.floating, pa.float64()),
    "json_get_int": (values.integer, pa.int64()),
    "json_get_json": (values.raw, pa.string()),
    "json_get_str": (values.string, pa.string()),
    "json_keys": (values.keys, _TEXTS),
    "json_len": (values.length, pa.uint64()),
    "json_length": (values.length, pa.uint64()),
    "json_object_keys": (values.keys, _TEXTS),
}
"""Function name in the reference -> function (JSON string, position of a value in it) and its result type."""


def register(context: SessionContext) -> None:
    """Register the functions in a session."""
    from datafusion import udf

    for name, (read, type_) in FUNCTIONS.items():
        otherwise = False if name == "json_contains" else None
        function = udf(_over_rows(read, type_, otherwise), [pa.string()] * 2, type_, "immutable", PREFIX + name)
        context.register_udf(function)


def _over_rows(
    read: Callable[[str, int], Any], type_: pa.DataType, otherwise: bool | None
) -> Callable[[pa.Array, pa.Array], pa.Array]:
    def value(text: str | None, path: list[values.Step]) -> Any:
        if text is None:
            return otherwise
        try:
            return read(text, values.find(text, path))
        except (ValueError, RecursionError):
            return otherwise

    def call(texts: pa.Array, paths: pa.Array) -> pa.Array:
        path = json.loads(paths[0].as_py()) if len(paths) else []
        return pa.array([value(text, path) for text in texts.to_pylist()], type_)

    return call

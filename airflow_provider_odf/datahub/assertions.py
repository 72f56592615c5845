"""Clauses of a contract as assertions of DataHub.

Clauses about columns and rows are of type DATASET. Rules about the number of rows are VOLUME, the frequency of updates
is FRESHNESS, types and additional columns are DATA_SCHEMA. What data alone cannot answer, such as a text or a promise
of the service, is CUSTOM.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from datahub.emitter import mce_builder as builder
from datahub.metadata import schema_classes as dh

from airflow_provider_odf.clauses import KINDS, METRICS, NATIVE, THRESHOLDS, Kind, Metric
from airflow_provider_odf.contract.report import query_of
from airflow_provider_odf.datahub.schema import (
    PLATFORM,
    field_paths,
    field_urn,
    plain_path,
    platform_of,
    schema_field,
    schema_metadata,
)
from airflow_provider_odf.protocol import Check, Column, Contract

_Compatibility = dh.SchemaAssertionCompatibilityClass
_Type = dh.AssertionTypeClass

_Unit = dh.CalendarIntervalClass
_Value = dh.AssertionStdParameterClass

_CUSTOM = frozenset({"quality_text", "extension", "ref"})
"""Kinds of clauses that cannot be evaluated. Service levels that name no field cannot be evaluated either."""


@dataclass(frozen=True)
class Target:
    """The dataset that a contract is about. ``paths`` are the paths of DataHub by those of contracts."""

    urn: str
    name: str
    paths: Mapping[str, str]

    @classmethod
    def of(cls, urn: str, name: str, columns: Sequence[Column]) -> Target:
        """Return the dataset with a URN, a name for readers, and its columns."""
        return cls(urn, name, field_paths(columns))

    def path(self, field: str) -> str:
        """Return the path of a field in DataHub; a field that the dataset lacks keeps its path."""
        return self.paths.get(plain_path(field), field)

    def field(self, field: str) -> str:
        """Return the URN of a field."""
        return field_urn(self.urn, self.path(field))


def info(check: Check, contract: Contract, target: Target) -> dh.AssertionInfoClass:
    """Return the aspect ``assertionInfo`` of a clause."""
    aspect = dh.AssertionInfoClass(
        type=_Type.DATASET,
        customProperties=_properties(check, contract),
        source=dh.AssertionSourceClass(type=dh.AssertionSourceTypeClass.EXTERNAL),
        description=check.description,
    )
    _fill(aspect, check, contract, target)
    if aspect.type not in (_Type.DATASET, _Type.CUSTOM):
        # The other types have no fields for these.
        aspect.customProperties |= {"nativeType": check.kind, "logic": _logic(check)}
        aspect.customProperties |= {f"nativeParameters.{name}": text for name, text in _parameters(check).items()}
    return aspect


def actions(check: Check, *, raises_incidents: bool) -> dh.AssertionActionsClass:
    """Return the aspect ``assertionActions``: a clause of severity error raises an incident, and resolves it again."""
    if not raises_incidents or check.severity != "error":
        return dh.AssertionActionsClass(onSuccess=[], onFailure=[])
    kinds = dh.AssertionActionTypeClass
    return dh.AssertionActionsClass(
        onSuccess=[dh.AssertionActionClass(kinds.RESOLVE_INCIDENT)],
        onFailure=[dh.AssertionActionClass(kinds.RAISE_INCIDENT)],
    )


def platform_instance(instance: str) -> dh.DataPlatformInstanceClass:
    """Return the aspect ``dataPlatformInstance`` of an assertion; ``instance`` may be empty."""
    urn = builder.make_dataplatform_instance_urn(PLATFORM, instance) if instance else None
    return dh.DataPlatformInstanceClass(builder.make_data_platform_urn(PLATFORM), urn)


def _fill(aspect: dh.AssertionInfoClass, check: Check, contract: Contract, target: Target) -> None:
    """Set the type of an assertion, and its part of that type."""
    shape = _form(check)
    if check.kind in ("field_type", "additional_fields"):
        aspect.type, aspect.schemaAssertion = _Type.DATA_SCHEMA, _schema(check, contract, target)
    elif shape.is_row_count and shape.parameters is not None:
        kind, count = (
            dh.VolumeAssertionTypeClass.ROW_COUNT_TOTAL,
            dh.RowCountTotalClass(shape.operator, shape.parameters),
        )
        aspect.type = _Type.VOLUME
        aspect.volumeAssertion = dh.VolumeAssertionInfoClass(kind, target.urn, rowCountTotal=count)
    elif check.kind == "service_level_frequency" and (times := _schedule(check.arguments)) is not None:
        changes = dh.FreshnessAssertionTypeClass.DATASET_CHANGE
        aspect.type = _Type.FRESHNESS
        aspect.freshnessAssertion = dh.FreshnessAssertionInfoClass(changes, target.urn, schedule=times)
    elif check.kind in _CUSTOM or (check.kind.startswith("service_level_") and not check.field):
        aspect.type, aspect.customAssertion = _Type.CUSTOM, _custom(check, target)
    else:
        aspect.datasetAssertion = _dataset(check, shape, target)


def _dataset(check: Check, shape: Form, target: Target) -> dh.DatasetAssertionInfoClass:
    names = check.columns or ((check.field,) if check.field else ())
    return dh.DatasetAssertionInfoClass(
        dataset=target.urn,
        scope=shape.scope,
        operator=shape.operator,
        fields=[target.field(name) for name in names],
        aggregation=shape.aggregation,
        parameters=shape.parameters,
        nativeType=check.kind,
        nativeParameters=_parameters(check),
        logic=_logic(check),
    )


def _schema(check: Check, contract: Contract, target: Target) -> dh.SchemaAssertionInfoClass:
    """Return the one field whose type is tested, or all fields if there may be no others."""
    is_exact = check.kind == "additional_fields"
    typed = [c for c in contract.checks if c.kind == "field_type"] if is_exact else [check]
    types = {c.field: str(c.arguments.get("type", "")) for c in typed if c.field}
    names = check.columns if is_exact else (check.field or "",)
    fields = [schema_field(target.path(name), types.get(name, "")) for name in names]
    schema = schema_metadata(check.model or target.name, platform_of(target.urn), fields)
    return dh.SchemaAssertionInfoClass(
        target.urn, schema, _Compatibility.EXACT_MATCH if is_exact else _Compatibility.SUPERSET
    )


def _custom(check: Check, target: Target) -> dh.CustomAssertionInfoClass:
    return dh.CustomAssertionInfoClass(
        type=check.kind,
        entity=target.urn,
        field=target.field(check.field) if check.field else None,
        nativeType=check.kind,
        nativeParameters=_parameters(check),
        logic=_logic(check),
    )


def _logic(check: Check) -> str:
    return query_of(check) or check.description


def _parameters(check: Check) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        for name, value in check.arguments.items()
        if name != "java"
    }


def _properties(check: Check, contract: Contract) -> dict[str, str]:
    properties = {
        "contract": contract.id,
        "contractVersion": contract.version,
        "specification": contract.specification,
        "model": check.model or contract.model,
        "path": check.path,
        "line": str(check.line),
        "field": check.field or "",
        "severity": check.severity,
    }
    return {name: value for name, value in properties.items() if value}


@dataclass(frozen=True)
class Form:
    """A clause in standard terms; the kind and the arguments of a clause are on every assertion."""

    operator: str
    aggregation: str
    scope: str
    parameters: dh.AssertionStdParametersClass | None = None

    @property
    def is_row_count(self) -> bool:
        """Whether the clause compares the number of rows by an operator of DataHub's volume assertions."""
        return self.aggregation == "ROW_COUNT" and self.operator not in (NATIVE, "NOT_EQUAL_TO")


_COUNTS_ROWS = re.compile(
    r"\s*select\s+count\s*\(\s*(\*|1)\s*\)\s*(as\s+\w+\s+|\w+\s+)?from\s+[\w.`\"{}]+\s*;?\s*", re.I
)


def _form(check: Check) -> Form:
    scope = "DATASET_COLUMN" if check.field else "DATASET_ROWS"
    kind = KINDS.get(check.kind)
    if kind is None or kind.measure == "metric":
        return _form_of_metric(check, scope)
    value = _parameter(check, kind)
    parameters = dh.AssertionStdParametersClass(value=value) if value else None
    return Form(kind.datahub.operator, kind.datahub.aggregation, kind.datahub.scope or scope, parameters)


def _parameter(check: Check, kind: Kind) -> dh.AssertionStdParameterClass | None:
    """Return the parameter of a clause; none for a limit without a value, in a clause that is not valid."""
    parameter, value = kind.datahub.parameter, check.arguments.get(kind.argument)
    if isinstance(parameter, int):
        return _number(parameter)
    if parameter == "SET":
        return _Value(json.dumps(value or [], ensure_ascii=False, default=str), "SET")
    if parameter == "LIMIT":
        return (
            _Value(str(value), "NUMBER" if isinstance(value, int | float) else "STRING") if value is not None else None
        )
    return _Value(str(value or getattr(check, kind.argument, None) or ""), "STRING") if parameter else None


def _form_of_metric(check: Check, scope: str) -> Form:
    """Return the form of a metric, such as the number of rows. Several thresholds, and none, have no operator."""
    thresholds = check.arguments.get("thresholds") or {}
    metric = METRICS.get(str(check.arguments.get("metric")), Metric())
    aggregation = metric.share if check.arguments.get("unit") == "percent" else metric.datahub
    if check.kind == "quality_sql":
        aggregation = "ROW_COUNT" if _COUNTS_ROWS.fullmatch((query_of(check) or "").strip()) else NATIVE
    (name, limit), *others = [*thresholds.items()] or [("", None)]
    operator = THRESHOLDS[name].datahub if name in THRESHOLDS and not others else NATIVE
    if operator == NATIVE:
        return Form(operator, aggregation, scope)
    if THRESHOLDS[name].is_range:
        low, high = map(_number, limit)
        return Form(operator, aggregation, scope, dh.AssertionStdParametersClass(minValue=low, maxValue=high))
    return Form(operator, aggregation, scope, dh.AssertionStdParametersClass(value=_number(limit)))


def _number(value: object) -> dh.AssertionStdParameterClass:
    return _Value(str(value), "NUMBER")


_UNITS = {
    **dict.fromkeys(("s", "sec", "second", "PTS"), _Unit.SECOND),
    **dict.fromkeys(("m", "min", "minute", "PTM"), _Unit.MINUTE),
    **dict.fromkeys(("h", "hr", "hour", "hourly", "PTH"), _Unit.HOUR),
    **dict.fromkeys(("d", "day", "daily", "PD"), _Unit.DAY),
    **dict.fromkeys(("w", "week", "weekly", "PW"), _Unit.WEEK),
    **dict.fromkeys(("mo", "month", "monthly", "PM"), _Unit.MONTH),
    **dict.fromkeys(("quarter", "quarterly"), _Unit.QUARTER),
    **dict.fromkeys(("y", "yr", "year", "yearly", "annually", "PY"), _Unit.YEAR),
}
"""Unit of an interval, a word for one, or the letters of ISO 8601 around the number -> its unit in DataHub."""


def _schedule(arguments: Mapping[str, Any]) -> dh.FreshnessAssertionScheduleClass | None:
    """Return the schedule of a frequency with a ``cron`` expression or an ``interval`` of one unit; None if DataHub has
    no such schedule, as for a stream."""
    kinds = dh.FreshnessAssertionScheduleTypeClass
    if cron := arguments.get("cron"):
        return dh.FreshnessAssertionScheduleClass(kinds.CRON, cron=dh.FreshnessCronScheduleClass(str(cron), "UTC"))
    text = str(arguments.get("interval") or "").strip()
    number, name = "1", text.lower() if text.lower().endswith("ly") else ""
    if iso := re.fullmatch(r"(PT?)(\d+)([SMHDWY])", text.upper()):
        number, name = iso[2], iso[1] + iso[3]
    elif plain := re.fullmatch(r"(\d+)\s*([a-z]+?)s?", text.lower()):
        number, name = plain[1], plain[2]
        name = "" if name.endswith("ly") else name
    if name not in _UNITS:
        return None
    interval = dh.FixedIntervalScheduleClass(_UNITS[name], int(number))
    return dh.FreshnessAssertionScheduleClass(kinds.FIXED_INTERVAL, fixedInterval=interval)

"""Clauses of a contract as assertions of DataHub.

Clauses about columns and rows are of type DATASET. Rules about the number of rows are VOLUME, the frequency of updates
is FRESHNESS, types and additional columns are DATA_SCHEMA. What data alone cannot answer, such as a text or a promise
of the service, is CUSTOM.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datahub.emitter import mce_builder as builder
from datahub.metadata import schema_classes as dh

from airflow_provider_odf.contract.report import query_of
from airflow_provider_odf.datahub.forms import Form, form
from airflow_provider_odf.datahub.frequency import schedule
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
    shape = form(check)
    if check.kind in ("field_type", "additional_fields"):
        aspect.type, aspect.schemaAssertion = _Type.DATA_SCHEMA, _schema(check, contract, target)
    elif shape.is_row_count and shape.parameters is not None:
        aspect.type, aspect.volumeAssertion = _Type.VOLUME, _volume(shape.operator, shape.parameters, target)
    elif check.kind == "service_level_frequency" and (times := schedule(check.arguments)) is not None:
        kind = dh.FreshnessAssertionTypeClass.DATASET_CHANGE
        aspect.type, aspect.freshnessAssertion = (
            _Type.FRESHNESS,
            dh.FreshnessAssertionInfoClass(type=kind, entity=target.urn, schedule=times),
        )
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


def _volume(operator: str, limits: dh.AssertionStdParametersClass, target: Target) -> dh.VolumeAssertionInfoClass:
    count = dh.RowCountTotalClass(operator, limits)
    return dh.VolumeAssertionInfoClass(dh.VolumeAssertionTypeClass.ROW_COUNT_TOTAL, target.urn, rowCountTotal=count)


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
    """Return the SQL of a clause, otherwise its description."""
    return query_of(check) or check.description


def _parameters(check: Check) -> dict[str, str]:
    return {name: _as_text(value) for name, value in check.arguments.items() if name != "java"}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


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

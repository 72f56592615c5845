"""Compile service levels to checks: freshness, latency and retention of data, and promises that data cannot show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_odf.contract import durations
from airflow_provider_odf.contract.model import Clause, DataContract, Model
from airflow_provider_odf.contract.thresholds import Number, RuleError
from airflow_provider_odf.protocol import SERVICE_LEVEL, Check

PROMISE = "it is a promise about the service, which cannot be tested on data"
NO_HISTORY = "only the history of a dataset shows how often it is updated"


@dataclass(frozen=True)
class _Level:
    """A service level of a contract; ``tested`` are the names of the tested models."""

    clause: Clause
    value: Mapping[str, Any]
    contract: DataContract
    tested: Collection[str]

    def duration(self, key: str) -> dict[str, Any]:
        """Return the arguments of a check for a duration."""
        duration = durations.parse(self.value[key])
        return {"threshold": str(self.value[key]), "months": duration.months, "seconds": str(duration.seconds)}

    def field(self, key: str) -> tuple[Model, str]:
        """Return the model and the path of the field that a key names: ``orders.order_timestamp``."""
        reference = str(self.value[key])
        name, _, path = reference.partition(".")
        model = next((m for m in self.contract.models if m.name == name), None) if path else None
        if model is None and len(self.contract.models) == 1:
            model, path = self.contract.models[0], reference
        if model is None:
            raise RuleError(f"{key}: the contract has no model with the field {reference}")
        return model, path


def checks(contract: DataContract, tested: Collection[str]) -> Iterator[Check]:
    """Yield the checks of the service levels of a contract; ``tested`` are the tested models."""
    for clause in contract.service_levels:
        value = clause.value if isinstance(clause.value, dict) else {}
        text = " ".join(str(value.get("description") or "").split()) or f"service level {clause.name}"
        kind = SERVICE_LEVEL + clause.name
        check = Check(clause.path, kind, text, line=clause.place.line, arguments=_arguments(value))
        try:
            yield _COMPILERS.get(clause.name, _promise)(check, _Level(clause, value, contract, tested))
        except RuleError as e:
            yield replace(check, outcome="error", reason=str(e))


def is_one(check: Check) -> bool:
    """Whether a check is of a service level."""
    return check.kind.startswith(SERVICE_LEVEL)


def _arguments(value: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): v for key, v in value.items() if key != "description" and isinstance(v, str | Number | bool)}


def _promise(check: Check, level: _Level) -> Check:
    return replace(check, outcome="informational", reason=PROMISE)


def _freshness(check: Check, level: _Level) -> Check:
    return _of_times(check, level, "threshold", "timestampField")


def _retention(check: Check, level: _Level) -> Check:
    """Return a check of severity warning: old rows break a promise, and publishing new ones does not make it worse."""
    if level.value.get("unlimited"):
        return replace(check, outcome="informational", reason="data is kept forever")
    return replace(_of_times(check, level, "period", "timestampField"), severity="warning")


def _latency(check: Check, level: _Level) -> Check:
    return _of_times(check, level, "threshold", "sourceTimestampField", "processedTimestampField")


def _of_times(check: Check, level: _Level, duration: str, *fields: str) -> Check:
    if missing := [key for key in (duration, *fields) if level.value.get(key) is None]:
        return replace(check, outcome="informational", reason=f"cannot be measured without {' and '.join(missing)}")
    places = [level.field(key) for key in fields]
    models = {model.name for model, _ in places}
    if len(models) > 1:
        reason = f"it refers to times of several models: {', '.join(sorted(models))}"
        return replace(check, outcome="unsupported", reason=reason)
    arguments = level.duration(duration)
    if not models & set(level.tested):
        return replace(check, outcome="informational", reason=f"it applies to model {', '.join(models)}")
    paths = tuple(path for _, path in places)
    columns = paths if len(paths) > 1 else ()
    hides = any(model.is_sensitive(path) for model, path in places)
    return replace(check, model=models.pop(), field=paths[-1], columns=columns, arguments=arguments, is_sensitive=hides)


def _frequency(check: Check, level: _Level) -> Check:
    return replace(check, outcome="informational", reason=NO_HISTORY)


_COMPILERS: Mapping[str, Callable[[Check, _Level], Check]] = {
    "freshness": _freshness,
    "retention": _retention,
    "latency": _latency,
    "frequency": _frequency,
}
"""Service level -> its compiler. All others are promises."""

"""Open Data Fabric for Apache Airflow: a YAML in the dags folder becomes a published, verifiable dataset.

``__all__`` lists the public names; all others may change. They are imported at first use, so importing the package
imports neither Airflow nor Spark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_provider_odf.dag.factory import build_dags, raise_manifest_errors
    from airflow_provider_odf.errors import OdfError
    from airflow_provider_odf.hooks.odf import OdfHook
    from airflow_provider_odf.operators.contract_test import ContractTestOperator
    from airflow_provider_odf.operators.export_table import ExportTableOperator
    from airflow_provider_odf.operators.merge import MergeOperator
    from airflow_provider_odf.operators.polling_source import PollingSourceOperator
    from airflow_provider_odf.operators.publish import PublishOperator
    from airflow_provider_odf.operators.push_source import PushSourceOperator
    from airflow_provider_odf.operators.transform import TransformOperator
    from airflow_provider_odf.operators.verify import VerifyOperator
    from airflow_provider_odf.reading.store import open_store
    from airflow_provider_odf.sensors.dataset_health import DatasetHealthSensor
    from airflow_provider_odf.sensors.polling_source import PollingSourceSensor
    from airflow_provider_odf.triggers.dataset_health import DatasetHealthTrigger
    from airflow_provider_odf.triggers.polling_source import PollingSourceTrigger
    from airflow_provider_odf.version import __version__

__all__ = [
    "ContractTestOperator",
    "DatasetHealthSensor",
    "DatasetHealthTrigger",
    "ExportTableOperator",
    "MergeOperator",
    "OdfError",
    "OdfHook",
    "PollingSourceOperator",
    "PollingSourceSensor",
    "PollingSourceTrigger",
    "PublishOperator",
    "PushSourceOperator",
    "TransformOperator",
    "VerifyOperator",
    "__version__",
    "build_dags",
    "open_store",
    "raise_manifest_errors",
]


_MODULES = {
    "__version__": "version",
    "ContractTestOperator": "operators.contract_test",
    "DatasetHealthSensor": "sensors.dataset_health",
    "DatasetHealthTrigger": "triggers.dataset_health",
    "ExportTableOperator": "operators.export_table",
    "MergeOperator": "operators.merge",
    "OdfError": "errors",
    "OdfHook": "hooks.odf",
    "PollingSourceOperator": "operators.polling_source",
    "PollingSourceSensor": "sensors.polling_source",
    "PollingSourceTrigger": "triggers.polling_source",
    "PublishOperator": "operators.publish",
    "PushSourceOperator": "operators.push_source",
    "TransformOperator": "operators.transform",
    "VerifyOperator": "operators.verify",
    "build_dags": "dag.factory",
    "open_store": "reading.store",
    "raise_manifest_errors": "dag.factory",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

import subprocess
import sys

import pytest

import airflow_provider_odf

PUBLIC = [
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


def test_public_names_are_these():
    assert airflow_provider_odf.__all__ == PUBLIC
    assert dir(airflow_provider_odf) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_load(name):
    assert getattr(airflow_provider_odf, name) is not None


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'MergeOperater'"):
        getattr(airflow_provider_odf, "MergeOperater")  # noqa: B009


def test_the_package_alone_imports_neither_airflow_nor_spark():
    code = "import sys, airflow_provider_odf; airflow_provider_odf.OdfError; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"airflow", "pyspark", "pydantic", "pyarrow", "yaml"} & set(loaded) == set()

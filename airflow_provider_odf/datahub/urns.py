"""URNs of datasets, fields and assertions, the same in every run and on every machine.

The URN of a dataset is what DataHub's own code makes of its OpenLineage name, so assertions and lineage are on one
page.
"""

from __future__ import annotations

from datahub.emitter import mce_builder as builder

from airflow_provider_odf.lineage.naming import Identifier

PLATFORM = "odf"
"""Platform of assertions: the tool that tests them."""

_PLATFORMS = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "abs"),
    "dbfs": "dbfs",
    "file": "file",
}
"""Scheme of files and objects -> platform. Their names include the bucket, container or host."""

_RENAMED = {"sqlserver": "mssql", "awsathena": "athena"}


def dataset_urn(dataset: Identifier, env: str) -> str:
    """Return the URN of a dataset with an OpenLineage name; ``env`` is DataHub's environment, such as ``PROD``."""
    scheme, separator, location = dataset.namespace.partition("://")
    parts = [part for part in dataset.name.split(".") if part not in ("", "None")]
    name = ".".join(parts) or dataset.name
    if separator and (platform := _PLATFORMS.get(scheme.lower())):
        name = f"{location.rstrip('/')}/{name.lstrip('/')}".rstrip("/")
        name = (name or "/") if platform == "file" else name.lstrip("/")
        return str(builder.make_dataset_urn(platform, name, env))
    return str(builder.make_dataset_urn(_RENAMED.get(scheme, scheme), name, env))


def platform_of(dataset: str) -> str:
    """Return the URN of the platform of a dataset's URN."""
    return dataset.removeprefix("urn:li:dataset:(").partition(",")[0]


def assertion_urn(contract: str, dataset: str, path: str) -> str:
    """Return the URN of a clause: of a contract's id, the URN of a dataset, and the clause's JSON pointer."""
    guid = builder.datahub_guid({"platform": PLATFORM, "contract": contract, "dataset": dataset, "clause": path})
    return str(builder.make_assertion_urn(guid))


def field_urn(dataset: str, path: str) -> str:
    """Return the URN of a field; ``path`` is that in the dataset's `schemaMetadata`."""
    return str(builder.make_schema_field_urn(dataset, path))

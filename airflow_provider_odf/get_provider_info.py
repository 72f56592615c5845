"""Description of the provider package for Airflow: connection types, settings, operators, links, plugin.

Airflow reads it at the start of every command, and does not start if it violates ``airflow/provider_info.schema.json``.
Standard library only.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

_NAME = "Open Data Fabric"
_PACKAGE = "airflow_provider_odf"


def get_provider_info() -> dict[str, Any]:
    """Return the provider's description in the form of ``airflow/provider_info.schema.json``."""
    return {
        "package-name": _distribution(),
        "name": _NAME,
        "description": "`Open Data Fabric <https://docs.opendatafabric.org/>`__ datasets from YAML, on Apache Spark.",
        "integrations": [
            {"integration-name": _NAME, "external-doc-url": "https://docs.opendatafabric.org/", "tags": ["software"]}
        ],
        "operators": [
            _modules(
                "operators", "polling_source", "push_source", "merge", "transform", "contract_test", "publish", "verify"
            )
        ],
        "sensors": [_modules("sensors", "polling_source", "dataset_health")],
        "triggers": [_modules("triggers", "polling_source", "dataset_health")],
        "hooks": [_modules("hooks", "odf", "runners", "datahub")],
        "connection-types": [ODF_CONNECTION, DATAHUB_CONNECTION],
        "extra-links": [f"{_PACKAGE}.operators.links.{name}" for name in ("DatasetLink", "BlockLink", "ReportLink")],
        "plugins": [{"name": "odf", "plugin-class": f"{_PACKAGE}.ui.plugin.OdfPlugin"}],
        "config": {"odf": {"description": "Open Data Fabric datasets.", "options": _OPTIONS}},
    }


def _distribution() -> str:
    """Return the name under which this code is installed, which Airflow compares: a release has it in the core."""
    core = "airflow-provider-odf-core"
    try:
        distribution(core)
    except PackageNotFoundError:
        return core.removesuffix("-core")
    return core


def _modules(folder: str, *names: str) -> dict[str, Any]:
    return {"integration-name": _NAME, "python-modules": [f"{_PACKAGE}.{folder}.{name}" for name in names]}


def _option(
    description: str, *, default: str = "", example: str | None = None, kind: str = "string"
) -> dict[str, str | None]:
    return {"description": description, "version_added": "0.1.0", "type": kind, "example": example, "default": default}


ODF_CONNECTION: dict[str, Any] = {
    "connection-type": "odf",
    "hook-name": _NAME,
    "hook-class-name": f"{_PACKAGE}.hooks.odf.OdfHook",
    "ui-field-behaviour": {
        "hidden-fields": ["schema", "login", "password", "port"],
        "relabeling": {"host": "Store"},
        "placeholders": {"host": "/data/odf-store"},
    },
    "conn-fields": {
        "work_area": {
            "label": "Work area",
            "description": "Folder for fetched files until they are merged, and for caches, shared by all workers. "
            "Default: STORE/.work. Of a store in an object store, workers need not share it, and the default is a "
            "folder of the user's cache",
            "schema": {"type": ["string", "null"]},
        }
    },
}

DATAHUB_CONNECTION: dict[str, Any] = {
    "connection-type": "datahub",
    "hook-name": "DataHub",
    "hook-class-name": f"{_PACKAGE}.hooks.datahub.DataHubHook",
    "ui-field-behaviour": {
        "hidden-fields": ["schema", "login"],
        "relabeling": {"host": "Metadata service (GMS)", "password": "Access token"},
        "placeholders": {"host": "http://datahub-gms:8080"},
    },
}

_OPTIONS = {
    "store": _option(
        "Path or URI of the store, unless the connection ``odf_default`` names one. "
        "Default: ``$ODF_STORE``, else ``odf-store`` in the Airflow home.",
        example="/data/odf-store",
    ),
    "input_stores": _option(
        "Paths or URIs of other stores, separated by commas. Inputs of derivatives that the store does not have are "
        "looked for there by their ids. A manifest may also name an input by its location (``file:///…``, ``s3://…``, "
        "``https://…``).",
        example="/mnt/partner/odf-store",
    ),
    "object_store_connections": _option(
        "Connections with the credentials of object stores, for stores and for sources: comma-separated "
        "``BUCKET=CONNECTION``, or ``SCHEME=CONNECTION`` for all other buckets of ``s3``, ``gs``, ``az`` or ``abfss``. "
        "Types: ``aws``, ``google_cloud_platform``, ``wasb``, ``adls``. Other buckets use the environment, or the role "
        "of the machine.",
        example="s3=aws_default, s3://partner=aws_partner",
    ),
    "work_area": _option(
        "Folder for fetched files until they are merged, and for caches. All workers must share it, because tasks of "
        "one run may execute on different workers. Default: ``.work`` in the store. If the store is in an object "
        "store, tasks pass files through its ``.work``, workers need not share this folder, and its default lies in "
        "the user's cache (``ODF_CACHE_DIR``).",
        example="/shared/odf-work",
    ),
    "spark_conn_id": _option(
        "Default connection of type ``spark`` or ``spark_connect``; ``odf.yaml`` overrides it. "
        "Empty: Spark runs in a child process of the task.",
        example="spark_default",
    ),
    "spark": _option(
        "When a merge or a derivative uses Spark; ``odf.yaml`` overrides it. ``needed``: if Arrow cannot do the work. "
        "``always``: its tasks read and merge all rows. Empty: ``needed`` in a child process of the task and on Spark "
        "Connect, ``always`` on a connection of type ``spark``.",
        example="always",
    ),
    "slice_records": _option(
        "Maximum number of records in a slice; ``odf.yaml`` overrides it. An input with more becomes several slices, "
        "which tasks of Spark write side by side, and is published at once.",
        default="10000000",
        kind="integer",
    ),
    "local_master": _option("Spark master of the child process.", default="local[*]", example="local[2]"),
    "local_memory": _option(
        "Java heap of the child process, at least ``456m``. With ``local[*]`` it runs one concurrent Spark task per "
        "256 MiB. Empty: Java's default, a quarter of the memory.",
        example="4g",
    ),
    "forbid_steps": _option(
        "Comma-separated kinds of steps that manifests may not use, such as those that run programs on the worker.",
        example="Pipe, Container",
    ),
    "push_paths": _option(
        "Comma-separated folders and URIs from which a DAG run's conf, an XCom or a template may push files. "
        "Empty: they may push records, but no files. ``*``: every file that workers can read.",
        example="/data/incoming, https://files.example.org/drop",
    ),
    "private_redirects": _option(
        "Redirects of a source to a less public network, such as from a public server to a private address or "
        "``localhost``: ``refuse`` or ``follow``.",
        default="refuse",
    ),
    "link_local": _option(
        "HTTP sources with a link-local address, as the metadata services of clouds have, such as 169.254.169.254: "
        "``refuse`` or ``allow``.",
        default="refuse",
    ),
    "outside_links": _option(
        "Symbolic links that point outside the folder of a ``FilesGlob``: ``refuse`` or ``follow``.", default="refuse"
    ),
    "largest_download": _option(
        "Maximum download size: a number of bytes, or a size such as 512m or 10g.", default="256g"
    ),
    "largest_file": _option(
        "Maximum total output of the prepare steps for one fetched file: a number of bytes, or a size such as 512m or "
        "10g.",
        default="1t",
    ),
    "read_timeout": _option("Seconds to wait for a server that does not respond.", default="60", kind="float"),
    "pipe_timeout": _option("Maximum run time of a Pipe step's program in seconds.", default="3600", kind="float"),
    "container_command": _option(
        "Container runtime with its global flags. Empty: podman if it is installed, else docker.",
        example="podman --storage-driver=vfs",
    ),
    "container_arguments": _option(
        "Further flags of the runtime's ``run``.", example="--cap-drop=all --security-opt=no-new-privileges"
    ),
    "container_network": _option(
        "Network of Container fetch steps, passed to the runtime as ``--network``.", default="none", example="bridge"
    ),
    "container_memory": _option("Memory limit of a Container fetch step, such as 2g. Empty: no limit.", default="2g"),
    "container_cpus": _option("CPU limit of a Container fetch step. Empty: no limit.", default="1"),
    "container_timeout": _option("Maximum run time of a container in seconds.", default="3600", kind="float"),
    "ethereum_nodes": _option(
        "Nodes of Ethereum chains, for EthereumLogs steps without ``nodeUrl``: chain ids with URLs, separated by "
        "commas. URLs may have templates.",
        example="1=https://mainnet.example.org/${{ env.NODE_KEY }}",
    ),
    "ethereum_block_stride": _option(
        "Maximum number of blocks in one request for logs. It is halved while a node refuses requests.",
        default="100000",
        kind="integer",
    ),
    "ethereum_newest": _option(
        "Newest block whose logs are read: ``latest``, ``safe`` or ``finalized``.", default="latest"
    ),
    "mqtt_idle": _option(
        "Seconds without a message after which a poll of MQTT topics ends.", default="1", kind="float"
    ),
    "mqtt_timeout": _option(
        "Maximum seconds that a poll reads MQTT messages. The next poll continues.", default="60", kind="float"
    ),
    "still_rejected": _option(
        "How a poll ends while the newest input is rejected or held back: ``fail`` or ``skip``. The rejection ends "
        "when the source, the manifest, the contract or ``odf.yaml`` changes, "
        "or when a user publishes or discards the candidate (``odf rejected``).",
        default="fail",
    ),
    "manifest_version": _option("Version of the metadata blocks that runs write: 3 or 2.", default="3", kind="integer"),
    "naming_spec": _option(
        "Edition of the OpenLineage naming specification for primary dataset names: ``current`` or ``2024``. "
        "If the other edition has another name, events include it as a symlink.",
        default="current",
    ),
    "datahub_conn_id": _option(
        "Connection of type ``datahub`` to the server that receives contract test results. Empty: results are not "
        "sent. Needs the extra ``datahub``.",
        example="datahub_default",
    ),
    "datahub_file": _option(
        "Path of a JSON file that each contract test writes for ``datahub ingest``. If the path is an existing folder, "
        "each run writes its own file there. Needs the extra ``datahub``.",
        example="/data/datahub",
    ),
    "datahub_env": _option("Environment of datasets in DataHub.", default="PROD", example="DEV"),
    "datahub_instance": _option(
        "Instance of the data platform ``odf`` that assertions belong to in DataHub. Empty: none.", example="warehouse"
    ),
    "datahub_incidents": _option(
        "Whether a clause of severity ``error`` raises an incident in DataHub when it fails, and resolves it when it "
        "passes.",
        default="True",
        kind="boolean",
    ),
}

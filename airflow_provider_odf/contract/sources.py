"""The data that a contract is tested on outside of datasets: ``--data`` of the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from airflow_provider_odf.contract.load import ContractFile
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.protocol import Source

MODEL = "{model}"
FORMATS = ("csv", "json", "ndjson", "parquet")

HADOOP = "3.5.0"
"""Version of Hadoop in the pyspark of the lock."""

S3 = f"org.apache.hadoop:hadoop-aws:{HADOOP}"
"""What Spark needs to read S3."""

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def models_to_test(contract: ContractFile, model: str | None) -> tuple[str, ...]:
    """Return the models to test: one, or all.

    :raises InvalidInput: the contract has no model of the name, or none at all.
    """
    names = tuple(m.name for m in contract.contract.models)
    if not names:
        raise InvalidInput(f"{contract.file}: the contract has no models to test")
    if model is not None and model not in names:
        raise InvalidInput(f"{contract.file}: the contract has no model {model!r}; its models are {', '.join(names)}")
    return (model,) if model is not None else names


def of_data(contract: ContractFile, models: Sequence[str], data: str, data_format: str | None) -> tuple[Source, ...]:
    """Return the sources of a path: a file, a folder or a glob, in which ``{model}`` is the name of a model.

    :raises InvalidInput: the path is for one model and there are several, or its format is unknown.
    """
    names = [m.name for m in contract.contract.models] if MODEL in data else [*models]
    if len(names) > 1 and MODEL not in data:
        several = ", ".join(names)
        raise InvalidInput(
            f"{data} is the data of one model, but the contract has the models {several}: choose one with --model, or "
            f"write {MODEL} in --data"
        )
    return tuple(_source(name, data.replace(MODEL, name), data_format) for name in names)


def _source(model: str, path: str, data_format: str | None) -> Source:
    kind = data_format or format_of(path)
    if kind is None:
        raise InvalidInput(
            f"{path}: cannot determine the format from the file name: add --data-format {'|'.join(FORMATS)}"
        )
    options = {"sep": "\t"} if path.lower().endswith(".tsv") else {}
    if "://" in path:
        return Source(
            model, kind, (re.sub(r"^s3n?://", "s3a://", path),), options, install=S3 if path[:2] == "s3" else ""
        )
    return Source(model, kind, (local_path(Path(path)),), options)


def local_path(path: Path) -> str:
    """Return an absolute path for Spark, which takes every path as a glob: the name of an existing file is escaped."""
    absolute = path.expanduser().absolute()
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", str(absolute)) if os.path.exists(absolute) else str(absolute)


def format_of(path: str) -> str | None:
    """Return the format that a name shows, that of the files in a folder, or None."""
    name = path.lower().removesuffix(".gz").removesuffix("/*")
    if (kind := _SUFFIXES.get(Path(name).suffix)) is not None:
        return kind
    folder = Path(path).expanduser()
    inside = {_SUFFIXES.get(file.suffix.lower()) for file in folder.rglob("*.*")} if folder.is_dir() else set()
    kinds = inside - {None}
    return kinds.pop() if len(kinds) == 1 else None

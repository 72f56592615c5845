"""Parts of Airflow that tests need and that have no public door, where each version has them."""

from functools import partial
from pathlib import Path

try:
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
    from airflow.serialization.decoders import smart_decode_trigger_kwargs
    from airflow.serialization.serialized_objects import DagSerialization

    read_bag = partial(DagBag, bundle_name="dags-folder")
    IS_OLD = False
except ImportError:  # Airflow 3.0 and 3.1
    from airflow.models.dagbag import DagBag
    from airflow.serialization.serialized_objects import SerializedDAG as DagSerialization
    from airflow.serialization.serialized_objects import smart_decode_trigger_kwargs

    read_bag = DagBag
    IS_OLD = True
    try:
        from airflow.models.dagbag import sync_bag_to_db
    except ImportError:
        sync_bag_to_db = DagBag.sync_to_db

IS_OLDEST = hasattr(DagBag, "sync_to_db")
"""Whether this is Airflow 3.0."""


def import_errors(bag):
    """The import errors of a folder by the names of files: Airflow 3.0 has whole paths."""
    return {Path(file).name: error for file, error in bag.import_errors.items()}


__all__ = [
    "IS_OLD",
    "IS_OLDEST",
    "DagBag",
    "DagSerialization",
    "import_errors",
    "read_bag",
    "smart_decode_trigger_kwargs",
    "sync_bag_to_db",
]

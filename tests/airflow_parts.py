"""Parts of Airflow that tests need and that have no public door, where each version has them."""

from functools import partial

try:
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
    from airflow.serialization.decoders import smart_decode_trigger_kwargs
    from airflow.serialization.serialized_objects import DagSerialization

    read_bag = partial(DagBag, bundle_name="dags-folder")
    IS_OLDEST = False
except ImportError:  # Airflow 3.1
    from airflow.models.dagbag import DagBag, sync_bag_to_db
    from airflow.serialization.serialized_objects import SerializedDAG as DagSerialization
    from airflow.serialization.serialized_objects import smart_decode_trigger_kwargs

    read_bag = DagBag
    IS_OLDEST = True

__all__ = ["IS_OLDEST", "DagBag", "DagSerialization", "read_bag", "smart_decode_trigger_kwargs", "sync_bag_to_db"]

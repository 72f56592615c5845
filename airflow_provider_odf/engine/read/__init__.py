"""Raw files become typed rows: ReadStep of the specification.

What does not fit is an error that names the input, the record, the column and the text, never a null, also where
nothing uses the column. Rows come in input order: ``monotonically_increasing_id()`` right after reading is
their position.
"""

from airflow_provider_odf.engine.read.read import read
from airflow_provider_odf.engine.read.result import Read

__all__ = ["Read", "read"]

"""Read raw files into typed rows: ReadStep of the specification.

A value of the wrong type is an error with the input, the record, the column and the text, never a null. Columns that no
query uses are checked too. Rows keep the order of the input: right after reading, ``monotonically_increasing_id()`` is
their position.
"""

from airflow_provider_odf.engine.read.convert import Read
from airflow_provider_odf.engine.read.read import read

__all__ = ["Read", "read"]

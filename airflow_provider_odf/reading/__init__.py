"""The Python interface to the published data of a store. It imports neither Airflow nor, until it is asked for a
DataFrame, pyspark."""

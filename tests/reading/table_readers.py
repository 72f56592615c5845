"""Run SQL on exported tables by DuckDB or Spark, in the environment of `make test-tables`. Arguments: the reader, the
folder of tables, and as JSON the file to write for each query. Tables are named ``iceberg_NAME`` and ``delta_NAME``."""

import json
import sys
from pathlib import Path

import pyarrow as pa

reader, folder, queries = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
names = {form: [table.name for table in (folder / form / "odf").iterdir()] for form in ("iceberg", "delta")}

if reader == "duckdb":
    import duckdb
    from duckdb_extensions import import_extension

    connection = duckdb.connect()
    for extension in ("avro", "iceberg", "delta"):
        import_extension(extension, con=connection)
    for form, tables in names.items():
        for name in tables:
            connection.execute(f"CREATE VIEW {form}_{name} AS FROM {form}_scan('{folder}/{form}/odf/{name}')")
    results = {file: connection.execute(query).to_arrow_table() for file, query in queries.items()}
else:
    from py4j.protocol import Py4JJavaError
    from pyspark.sql import SparkSession

    settings = {
        "spark.jars": ",".join(map(str, Path(sys.prefix, "jars").glob("*.jar"))),
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.odf": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.odf.type": "jdbc",
        "spark.sql.catalog.odf.uri": f"jdbc:sqlite:{folder}/iceberg/catalog.db",
        "spark.sql.catalog.odf.warehouse": f"file://{folder}/iceberg",
        "spark.sql.catalog.odf.jdbc.schema-version": "V1",
    }
    spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    for name in names["iceberg"]:
        spark.table(f"odf.odf.{name}").createOrReplaceTempView(f"iceberg_{name}")
    for name in names["delta"]:
        spark.read.format("delta").load(f"{folder}/delta/odf/{name}").createOrReplaceTempView(f"delta_{name}")
    results = {}
    for file, query in queries.items():
        try:
            results[file] = spark.sql(query).toArrow()
        except Py4JJavaError as e:
            results[file] = pa.table({"error": [str(e)]})

for file, table in results.items():
    with pa.ipc.new_file(file, table.schema) as target:
        target.write_table(table)

# Spark for master and workers, with the Python and the versions of the Airflow image. The code of the engine comes with
# each application, so this image need not be built again when it changes. Build from the root of the repository:
#   docker build --file docker/spark.Dockerfile --tag odf-spark .
FROM python:3.11-slim-bookworm

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/* \
    && pip install --no-cache-dir uv==0.8.22

COPY pyproject.toml uv.lock /tmp/odf/
WORKDIR /tmp/odf
RUN uv export --frozen --no-dev --no-emit-project --no-hashes --quiet --output-file constraints.txt \
    && uv pip install --system --no-cache --constraint constraints.txt pyspark pyarrow pandas datafusion obstore

USER 50000:0
ENV HOME=/tmp \
    PYSPARK_PYTHON=python3 \
    SPARK_HOME=/usr/local/lib/python3.11/site-packages/pyspark
WORKDIR /tmp
ENTRYPOINT ["/usr/local/lib/python3.11/site-packages/pyspark/bin/spark-class"]

# Airflow with this provider, at the versions of uv.lock. Build from the root of the repository:
#   docker build --file docker/airflow.Dockerfile --tag odf-airflow .
FROM apache/airflow:3.3.2-python3.11

USER 0
# Java 17 or newer, whichever the distribution has.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends default-jre-headless \
    && rm -rf /var/lib/apt/lists/*

USER 50000
COPY --chown=50000:0 pyproject.toml uv.lock README.md LICENSE /tmp/odf/
COPY --chown=50000:0 airflow_provider_odf /tmp/odf/airflow_provider_odf
COPY --chown=50000:0 spark_apps /tmp/odf/spark_apps
WORKDIR /tmp/odf
RUN uv export --frozen --no-dev --no-emit-project --no-hashes --quiet --output-file constraints.txt \
    && uv pip install --no-cache --constraint constraints.txt .
WORKDIR /opt/airflow

"""Errors in manifests, as an Airflow import error of this file, which has no DAGs of its own."""

from airflow_provider_odf import raise_manifest_errors

raise_manifest_errors(__file__)

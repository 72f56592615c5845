"""What is wrong in the manifests beside the loader of their DAGs, as an Airflow import error that hides none of them."""

from airflow_provider_odf import raise_manifest_errors

raise_manifest_errors(__file__)

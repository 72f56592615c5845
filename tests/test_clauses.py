"""The table of clauses has the measures that the engine and the examples of contracts evaluate."""

from airflow_provider_odf.clauses import KINDS, METRICS, OF_FIELDS, OPERATORS
from airflow_provider_odf.contract import examples
from airflow_provider_odf.contract.objects import FieldObject, OptionsObject
from airflow_provider_odf.engine.contract import metrics
from airflow_provider_odf.engine.contract.judges import JUDGES

OF_STANDARD = {"databricksType", "dimensions", "integerFormat", "references", "requiredFields"}
"""Clauses that a reader names: those of custom properties, of relationships, and of options with another name."""


def test_the_engine_judges_each_measure():
    assert {kind.measure for kind in KINDS.values()} == {*JUDGES}
    assert {kind.measure for kind in KINDS.values()} >= {*examples.MEASURES}
    assert {kind.operator for kind in KINDS.values() if kind.operator} == {*OPERATORS}


def test_each_metric_is_sql_or_a_function():
    assert {name for name, metric in METRICS.items() if not metric.sql} == {*metrics.METRICS}


def test_clauses_are_keys_of_the_specifications():
    keys = {field.alias for one in (FieldObject, OptionsObject) for field in one.model_fields.values()}
    assert {*OF_FIELDS} - keys <= OF_STANDARD

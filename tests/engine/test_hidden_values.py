"""Messages about sensitive data keep their places and lose their values."""

import random

import pytest

from airflow_provider_odf.engine.hidden_values import without_values
from airflow_provider_odf.protocol import (
    Check,
    Contract,
    ContractTestRequest,
    DatasetVocabulary,
    RawQueryRequest,
    SqlQueryStep,
    Transform,
)

LABEL = "data/it's 1 (a).csv"
HIDDEN = "the message is hidden, because it may show sensitive values"


def request(*sensitive, sql=None):
    transform = Transform(sql, (SqlQueryStep("select 1"),)) if sql else None
    return RawQueryRequest((), "", transform, label=LABEL, sensitive_columns=sensitive)


@pytest.mark.parametrize(
    ("message", "hidden"),
    [
        ("line 2, column email: 'x' is not a BIGINT", "line 2, column email: *** is not a BIGINT"),
        ("line 2, column email.a: 'x' is not a DECIMAL(3,1)", "line 2, column email.a: *** is not a DECIMAL(3,1)"),
        ("line 2, column id: 'x' is not a BIGINT", "line 2, column id: 'x' is not a BIGINT"),
        ("line 2: 3 fields instead of 12: '1,x,y'", "line 2: 3 fields instead of 12: ***"),
        ("line 1: invalid JSON: Expecting ',' delimiter at 'x}'", "line 1: invalid JSON: Expecting ***"),
        (
            "rows with the same primary key differ: (email=x); choose a primaryKey",
            "rows with the same primary key differ: ***",
        ),
        ("the primary key column id is null in 12 rows, such as (id=None)",
         "the primary key column id is null in 12 rows, such as ***"),
        ("no column email in the file, which has a, b", "no column email in the file, which has a, b"),
    ],
)  # fmt: skip
def test_problems_of_files(message, hidden):
    assert without_values(f"{LABEL}: {message}", request("email")) == f"{LABEL}: {hidden}"
    assert without_values(f"{LABEL}: {message}", request()) == f"{LABEL}: {message}"


@pytest.mark.parametrize(
    ("message", "hidden"),
    [
        ("query 1, line 1: [CAST_INVALID_INPUT] The value 'x' of", f"query 1, line 1: [CAST_INVALID_INPUT]: {HIDDEN}"),
        ("query 2 (a b), line 3: x is bad", f"query 2 (a b), line 3: {HIDDEN}"),
        ("preprocess: Cast error: Cannot cast x to Int64", f"preprocess: Cast error: {HIDDEN}"),
        ("transform, query 1, line 2: Arrow error: x", f"transform, query 1, line 2: Arrow error: {HIDDEN}"),
        ("query 1, line 1: [UNRESOLVED_COLUMN.WITH_SUGGESTION] no `x`",
         "query 1, line 1: [UNRESOLVED_COLUMN.WITH_SUGGESTION] no `x`"),
    ],
)  # fmt: skip
def test_problems_of_queries(message, hidden):
    assert without_values(message, request("email", sql="spark"), is_of_spark=True) == hidden


def test_a_column_of_a_file_may_become_any_column_in_preprocess():
    message = f"{LABEL}: line 2, column id: 'x' is not a BIGINT"
    hidden = f"{LABEL}: line 2, column id: *** is not a BIGINT"
    assert without_values(message, request("email", sql="spark")) == hidden
    assert without_values(message, request("*")) == hidden


def test_what_a_query_raises_has_no_quotes():
    assert without_values("bad x", request("email", sql="spark"), is_of_spark=True) == f"error: {HIDDEN}"


def test_a_contract_says_what_is_sensitive():
    check = Check("/a", "pattern", "email matches", "email", is_sensitive=True)
    tested = ContractTestRequest("d", DatasetVocabulary(), Contract("c", "d", "", (check,)), (), 0, "")
    assert without_values("[X] The value 'x'", tested, is_of_spark=True) == f"[X]: {HIDDEN}"


def test_no_value_survives_in_any_message():
    """Values have the parts of messages: quotes, places, names of columns."""
    parts = ["'", '"', "(", ")", ": ", "line 2, column id: ", "is not a BIGINT", "=", " ", "query 1: ", "[A]", "é"]
    shapes = [
        f"{LABEL}: line 2, column email: {{!r}} is not a BIGINT",
        f"{LABEL}: line 2: 3 fields instead of 2: {{!r}}",
        f"{LABEL}: rows with the same primary key differ: (email={{}}); choose",
        f"{LABEL}: the primary key column id is null in 1 row, such as (email={{}})",
        "query 1, line 1: [CAST_INVALID_INPUT] The value '{}' of the type",
        "preprocess: Cast error: Cannot cast string '{}' to value of Int64 type",
        "transform: {}",
    ]
    generator = random.Random(12)
    for _ in range(2_000):
        text = "".join(generator.choices(parts, k=4)) + "CANARY" + "".join(generator.choices(parts, k=4))
        for shape in shapes:
            sql = None if shape.startswith(LABEL) else "spark"
            assert "CANARY" not in without_values(shape.format(text), request("email", sql=sql)), shape
        assert "CANARY" not in without_values(text, request("email", sql="spark"), is_of_spark=True)

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_provider_odf.errors import CommitConflict, InternalError, InvalidQuery
from airflow_provider_odf.operators.base import OdfOperator


class Failing(OdfOperator):
    def __init__(self, *, error, **kwargs):
        super().__init__(**kwargs)
        self.error = error

    def run_step(self, context):
        raise self.error


def failure(error):
    with pytest.raises(AirflowException) as caught:
        Failing(error=error, task_id="fail").execute({})
    return caught.value


def test_what_would_fail_again_is_not_retried():
    error = failure(InvalidQuery("no column of that name"))
    assert isinstance(error, AirflowFailException)
    assert str(error) == "no column of that name"


@pytest.mark.parametrize("error", [InternalError("Spark died"), CommitConflict("head moved")])
def test_what_may_pass_is_retried(error):
    found = failure(error)
    assert not isinstance(found, AirflowFailException)
    assert str(found) == str(error)


def test_the_engines_own_words_are_in_the_log(caplog):
    failure(InternalError("Spark died", backtrace="java.lang.OutOfMemoryError"))
    assert "java.lang.OutOfMemoryError" in caplog.text


def test_other_errors_are_left_alone():
    with pytest.raises(ZeroDivisionError):
        Failing(error=ZeroDivisionError(), task_id="fail").execute({})


def test_killing_a_task_stops_spark(monkeypatch):
    closed = []

    class Runner:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def close(self):
            closed.append(True)

    monkeypatch.setattr("airflow_provider_odf.hooks.runner.open_runner", lambda conn_id: Runner())
    operator = OdfOperator(task_id="x")
    operator.on_kill()
    with operator.runner():
        operator.on_kill()
    assert closed == [True]

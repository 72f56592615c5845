"""Rejected candidates of a dataset that grows by real slices."""

from airflow_provider_odf.cycle import decisions
from airflow_provider_odf.cycle.candidates import Record, save_record
from airflow_provider_odf.protocol import CheckResult, ContractReport

EXISTS = CheckResult("/id", "column", "pass", "column id exists", line=3, rows=3, observed="bigint")
UNTESTED = CheckResult("/text", "quality", "informational", "ids are plausible", line=4, reason="a text")


def report(*results, sensitive=("value",)):
    """A report whose contract classifies the column ``value`` as sensitive."""
    return ContractReport(
        "urn:numbers", "d", "numbers", (*results, EXISTS, UNTESTED), tested_rows=3, sensitive_columns=sensitive
    )


def failed(offset):
    return CheckResult(
        *("/id/maximum", "maximum", "fail", "id: <= 2"),
        line=5,
        expected="<= 2",
        observed="3",
        rows=3,
        failed_rows=1,
        offsets=(offset,),
        samples=({"offset": offset, "id": 3, "value": "***"},),
    )


def publish(growing, *rows, result="pass"):
    """Publish rows with a report; the hash of their block."""
    growing.add(*rows)
    head = growing.dataset.head()
    clause = CheckResult("/id/maximum", "maximum", result, "id: <= 2", line=5, rows=len(rows))
    terms = {"Owner": "Ann <b>", "Usage": "Reports"}
    save_record(growing.dataset, head, Record("f00", len(rows), report=report(clause), terms=terms))
    return head


def reject(growing, *rows, ref="7", **facts):
    """Turn rows into a rejected candidate on the head; the candidate."""
    dataset, base, before = growing.dataset, growing.dataset.head(), growing.draft
    next_offset = growing.draft.state.next_offset
    growing.add(*rows)
    candidate = dataset.head()
    dataset.storage.compare_and_set_ref("head", candidate, base)
    name = f"rejected-{ref:0>16}"
    dataset.storage.compare_and_set_ref(name, None, candidate)
    tested = None if facts.get("held") else report(failed(next_offset + len(rows) - 1))
    save_record(dataset, candidate, Record(base, len(rows), report=tested, **facts))
    growing.draft = type(before)(dataset, _state(dataset))
    return decisions.chosen(dataset, name)


def _state(dataset):
    from airflow_provider_odf.chain.replay import replay

    return replay(dataset)

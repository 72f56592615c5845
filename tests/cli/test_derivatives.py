"""``odf`` on a root and a derivative with a contract: plan, run, rejection, replay."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.open_files import open_to_others
from tests.orders import ORDERS, TOTALS
from tests.shared_engine import shared_engine

pytestmark = pytest.mark.spark

CONTRACT = """\
dataContractSpecification: 1.1.0
id: totals
info: {title: Totals, version: 1.0.0}
models: {totals: {fields: {total: {type: long, maximum: 100}}}}
"""


@pytest.fixture(scope="module")
def odf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with shared_engine(tmp_path_factory.mktemp("engine")) as programs:
        yield programs / "odf"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "in").mkdir()
    for name, text in {"orders": ORDERS, "totals": TOTALS}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "totals.datacontract.yaml").write_text(CONTRACT)
    deliver(tmp_path, 1, "1,ann,10", "2,bob,20")
    yield tmp_path
    assert open_to_others(tmp_path / "odf-store") == []


def deliver(folder: Path, day: int, *rows: str) -> None:
    lines = "".join(f"2024-05-{day:02}T00:00:00Z,{row}\n" for row in rows)
    (folder / "in" / f"{day:02}.csv").write_text(f"event_time,id,customer,amount\n{lines}")


def run(odf: Path, folder: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run([odf, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_derivative_from_its_plan_to_its_replay(odf: Path, folder: Path) -> None:
    planned = run(odf, folder, "plan", ".")
    assert "totals: create\n" in planned
    assert "      inputs[0].datasetRef: did:odf:(new orders)\n" in planned
    assert planned.endswith("  its query is analyzed once its inputs have data\n")
    assert "totals: published 2 records (offsets 0..1)\n" in run(odf, folder, "run", ".")
    assert "  evaluation: keyed: new records are found in the result by customer\n" in run(odf, folder, "plan", ".")
    deliver(folder, 2, "3,ann,95")
    rejected = run(odf, folder, "run", ".", code=1)
    assert "contract totals rejected 2 records of totals: total: <= 100: 1 row: 105 at offset 3" in rejected
    assert "totals: the newest result of totals is still rejected" in run(odf, folder, "run", ".", code=1)
    deliver(folder, 3, "4,ann,-50")
    assert "totals: published 2 records (offsets 2..3): 1 corrected\n" in run(odf, folder, "run", ".")
    rows = json.loads(run(odf, folder, "state", "totals", "--format", "json"))
    assert [(row["customer"], row["total"]) for row in rows] == [("bob", 20), ("ann", 55)]
    assert "totals: ok: 5 blocks, 2 slices, 4 records, 2 transformations\n" in run(
        odf, folder, "verify", "orders", "totals", "--replay"
    )
    assert run(odf, folder, "run", ".") == "orders: up to date\ntotals: up to date\n"


def test_a_query_that_is_refused_changes_nothing(odf: Path, folder: Path) -> None:
    run(odf, folder, "run", ".")
    before = run(odf, folder, "log", "totals")
    (folder / "totals.yaml").write_text(TOTALS.replace("customer, sum", "customer, spark_partition_id() AS x, sum"))
    refusal = (
        "totals.yaml:13:11: transform, query 1, line 1: spark_partition_id has another value in each run: take times "
        "and values from the data\n"
    )
    assert f"totals: refused\n  {refusal}" in run(odf, folder, "plan", ".", code=2)
    assert f"totals: {refusal}" in run(odf, folder, "run", ".", code=2)
    assert run(odf, folder, "log", "totals") == before


def test_derivatives_that_name_each_other(odf: Path, folder: Path) -> None:
    (folder / "a.yaml").write_text(TOTALS.replace("totals", "a").replace("orders", "b"))
    (folder / "b.yaml").write_text(TOTALS.replace("totals", "b").replace("orders", "a"))
    for command, code in (("validate", 1), ("plan", 2), ("run", 2)):
        refusal = run(odf, folder, command, "a.yaml", "b.yaml", code=code)
        for name in ("a", "b"):
            assert f"{name}.yaml:8:29: dataset {name} reads itself through others: " in refusal
    assert not (folder / "odf-store").exists()


def test_a_replay_that_differs_names_the_block_and_the_rows(odf: Path, folder: Path) -> None:
    """Another derivative's records under this query: the chain verifies, the replay does not."""
    run(odf, folder, "run", ".")
    from airflow_provider_odf.chain.commit import Draft
    from airflow_provider_odf.chain.replay import replay
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.manifest import model

    dataset = Store.open(folder / "odf-store").dataset("totals")
    blocks = [block for _, block in reversed([*dataset.walk()])]
    draft = Draft(dataset)
    for block in blocks:
        event = block.event
        if isinstance(event, model.SetTransform):
            sql = event.transform.model_copy(
                update={
                    "queries": tuple(
                        s.model_copy(update={"query": s.query.replace("sum(amount)", "sum(amount) + 1")})
                        for s in event.transform.queries or ()
                    )
                }
            )
            event = event.model_copy(update={"transform": sql})
        draft.append(event, block.system_time)
    dataset.storage.compare_and_set_ref("head", replay(dataset).head, draft.state.head)
    assert "totals: ok" in run(odf, folder, "verify", "totals")
    message = run(odf, folder, "verify", "totals", "--replay", code=1)
    assert (
        f"totals: dataset totals, block {draft.state.head} (sequence number 3) is not what its inputs give" in message
    )
    assert "  only in the block: op=+A, event_time=2024-05-01T00:00:00Z, customer=ann, total=10\n" in message
    assert "  only computed: op=+A, event_time=2024-05-01T00:00:00Z, customer=ann, total=11\n" in message

"""``odf rejected publish`` and ``discard`` on candidates that wait for a decision, and on those that have one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_provider_odf.author import Author
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import candidates, decisions
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing
from tests.ui.rejecting import publish, reject

from .test_cli import in_this_process

COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
ANN = Author("ann@desk", "first", {"command": "odf rejected discard"}, "2026-11-20T10:00:00Z")
BOB = Author("bob@desk", "second", {"command": "odf rejected publish"}, "2026-11-21T10:00:00Z")
OLD, NEW = "rejected-0000000000000007", "rejected-0000000000000008"
NAMES_REF = "To decide on one all the same, name its REF; to list them: odf rejected list books --store odf-store\n"


@pytest.fixture
def books(tmp_path: Path) -> Growing:
    growing = Growing(
        Store.open(tmp_path / "odf-store").create(DatasetAlias.parse("books")), model.MergeStrategyAppend(), COLUMNS
    )
    publish(growing, ("+A", 1, "one"))
    return growing


@pytest.fixture
def odf(tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Run ``odf rejected``: its exit code, standard output and standard error."""
    return lambda *words: in_this_process(["rejected", *words, "--store", "odf-store"], tmp_path)


def decided(odf: Callable[..., tuple[int, str, str]]) -> list[tuple[Any, ...]]:
    _, out, _ = odf("list", "books", "--format", "json")
    return [tuple(entry[key] for key in ("ref", "decision", "decidedBy", "why")) for entry in json.loads(out)]


def test_a_repeated_discard_keeps_the_first(books, odf):
    decisions.discard(books.dataset, reject(books, ("+A", 2, "two")), ANN)
    first = (OLD, "discarded", "ann@desk", "first")
    code, out, err = odf("discard", "books")
    assert (code, out) == (2, "")
    assert err == (
        f"no rejected candidate of books waits for a decision; the newest, {OLD}, is discarded by ann@desk at "
        f"2026-11-20T10:00:00Z: first. {NAMES_REF}"
    )
    assert odf("discard", "books", OLD, "--reason", "second") == (
        0,
        f"books: nothing has changed: {OLD} is already discarded by ann@desk at 2026-11-20T10:00:00Z: first\n",
        "",
    )
    publish(books, ("+A", 3, "three"))
    assert "nothing has changed" in odf("discard", "books", OLD)[1]
    decisions.discard(books.dataset, decisions.chosen(books.dataset, OLD), BOB)
    assert decided(odf) == [first]


def test_a_discarded_candidate_is_published_by_its_ref_only(books, odf):
    base = books.dataset.head()
    decisions.discard(books.dataset, reject(books, ("+A", 2, "two")), Author("ann@desk", time=ANN.time))
    for action in ("publish", "retest"):
        code, _, err = odf(action, "books")
        assert code == 2
        assert f"{OLD}, is discarded by ann@desk at 2026-11-20T10:00:00Z without a reason. " in err
    assert books.dataset.head() == base
    assert decided(odf) == [(OLD, "discarded", "ann@desk", None)]
    assert odf("show", "books")[1].startswith(f"{OLD}: 1 record rejected by contract urn:numbers\n")
    assert odf("publish", "books", OLD) == (0, f"books: published 1 record of {OLD}\n", "")
    assert odf("publish", "books") == (2, "", "dataset books has no rejected candidate\n")


def test_a_superseded_candidate_is_accepted_by_its_ref_once(books, odf):
    old = reject(books, ("+A", 2, "two"), content="abc")
    decisions.discard(books.dataset, old, ANN)
    publish(books, ("+A", 3, "three"))
    code, _, err = odf("publish", "books")
    assert (code, books.dataset.head("accepted-abc")) == (2, None)
    assert "is discarded by ann@desk at 2026-11-20T10:00:00Z: first. " in err
    assert not candidates.is_accepted(books.dataset, old.record)
    assert odf("publish", "books", OLD, "--reason", "needed")[1] == (
        f"books: {OLD} is not based on the current head and cannot be published. "
        "The decision is kept: the next run that merges the same input publishes it\n"
    )
    ((_, decision, who, why),) = decided(odf)
    assert (decision, why) == ("accepted", "needed")
    code, out, _ = odf("publish", "books", old.block_hash, "--reason", "again")
    assert (code, out.startswith(f"books: nothing has changed: {OLD} is already accepted by {who} at 20")) == (0, True)
    assert out.endswith("Z: needed\n")
    assert candidates.accept(books.dataset, decisions.chosen(books.dataset, OLD), BOB)
    assert decided(odf) == [(OLD, "accepted", who, "needed")]


def test_without_a_ref_the_newest_that_waits_counts(books, odf):
    old = reject(books, ("+A", 2, "two"))
    new = reject(books, ("+A", 2, "two"), ("+A", 3, "three"), ref="8")
    decisions.discard(books.dataset, new, ANN)
    assert [ref for ref, *_ in decided(odf)] == [OLD, NEW]
    assert odf("publish", "books") == (0, f"books: published 1 record of {OLD}\n", "")
    assert books.dataset.head() == old.block_hash


def test_a_superseded_candidate_waits_for_no_decision(books, odf):
    reject(books, ("+A", 2, "two"), content="abc")
    publish(books, ("+A", 3, "three"))
    for action in ("publish", "discard", "retest"):
        code, _, err = odf(action, "books")
        assert code == 2
        assert err == (
            f"no rejected candidate of books waits for a decision; the newest, {OLD}, is superseded. {NAMES_REF}"
        )
    assert decided(odf) == [(OLD, None, None, None)]


def test_a_discard_ends_the_acceptance_of_its_input(books, odf):
    old = reject(books, ("+A", 2, "two"), content="abc")
    publish(books, ("+A", 3, "three"))
    assert candidates.accept(books.dataset, old, BOB)
    reject(books, ("+A", 2, "two"), ref="8", content="abc")
    assert "accepted by bob@desk at 2026-11-21T10:00:00Z: second. " in odf("discard", "books")[2]
    assert odf("discard", "books", NEW) == (0, f"books: discarded 1 record of {NEW}\n", "")
    assert books.dataset.head("accepted-abc") is None


def test_a_damaged_record_may_be_of_a_candidate_that_waits(books, odf):
    damaged = reject(books, ("+A", 2, "two"))
    (Path(books.dataset.location) / "info" / "reports" / f"{damaged.block_hash}.json").write_text("{")
    code, out, err = odf("publish", "books")
    assert (code, out) == (1, "")
    assert f"the report of {OLD} is missing or damaged: run the dataset's manifest again" in err

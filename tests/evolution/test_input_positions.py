"""Inputs keep their places in the chain, whatever their order in a manifest: the reference compares them by place."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain import codec
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.replay import replay, replay_all
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import reset
from airflow_provider_odf.errors import BlockRejected, ChainCorrupted, ManifestInvalid
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from tests.cycle.derivatives import SCHEMA, TIME, commit, ingest, root, transform_event
from tests.manifests import derived

NAMES = ("a", "b", "c", "d")


class Edits:
    """A derivative whose list of inputs is edited. Runs write blocks without an engine."""

    def __init__(self, folder: Path) -> None:
        self.file, self.store = folder / "derived.yaml", Store.open(folder / "store")
        self.roots = {name: root(self.store, name) for name in NAMES}
        self.ids = {replay(dataset).dataset_id: name for name, dataset in self.roots.items()}

    @property
    def dataset(self) -> Dataset:
        return self.store.dataset("derived")

    def apply(self, inputs: list[str], alias: str = "") -> None:
        listed = ", ".join(f"{{datasetRef: {name}, alias: {name}{alias}}}" for name in inputs)
        sql = f"{{kind: Sql, engine: spark, query: 'select * from {inputs[0]}{alias}'}}"
        self.file.write_text(derived("derived", listed, sql))
        apply(self.store, load([self.file]).manifests[0], TIME)

    def refusal(self, inputs: list[str], alias: str) -> str:
        """Apply the manifest, and return why it is refused, nothing if it is not."""
        try:
            self.apply(inputs, alias)
        except ManifestInvalid as e:
            return str(e)
        return ""

    @property
    def order(self) -> list[str]:
        """The inputs in the newest SetTransform."""
        transform = replay(self.dataset).transform
        assert transform is not None
        return [self.ids[item.dataset_ref] for item in transform.inputs]

    def run(self) -> None:
        """Compute the derivative from new records of all inputs, in the order of its SetTransform."""
        for name in self.order:
            ingest(self.roots[name])
        state = replay(self.dataset)
        event = transform_event(self.dataset, state, *(self.roots[name] for name in self.order))
        commit(self.dataset, state, *([] if state.schema else [SCHEMA]), event)


def rejected_by_reference(dataset: Dataset) -> list[int]:
    """The blocks that the reference implementation rejects: inputs that are not those of SetTransform in their order,
    or that do not continue at the position of the input at their place in the query before."""
    rejected: list[int] = []
    expected: list[str] = []
    before: list[tuple[str | None, int | None]] = []
    for _, block in reversed(list(dataset.walk())):
        event = block.event
        if isinstance(event, model.SetTransform):
            expected = [item.dataset_ref for item in event.inputs]
        if isinstance(event, model.ExecuteTransform):
            continued = [(i.prev_block_hash, i.prev_offset) for i in event.query_inputs]
            is_continued = all(a == b for a, b in zip(before, continued, strict=False))
            if [i.dataset_id for i in event.query_inputs] != expected or not is_continued:
                rejected.append(block.sequence_number)
            before = [
                (i.new_block_hash or i.prev_block_hash, i.prev_offset if i.new_offset is None else i.new_offset)
                for i in event.query_inputs
            ]
    return rejected


def edited(r: Random, inputs: list[str]) -> list[str]:
    """The list of inputs after an edit: added, removed, replaced or reordered."""
    absent = [name for name in NAMES if name not in inputs]
    match r.choice(["add", "add", "shuffle", "shuffle", "remove", "replace", "same"]):
        case "add" if absent:
            place = r.randrange(len(inputs) + 1)
            return [*inputs[:place], r.choice(absent), *inputs[place:]]
        case "remove" if len(inputs) > 1:
            removed = r.choice(inputs)
            return [name for name in inputs if name != removed]
        case "replace" if absent:
            place = r.randrange(len(inputs))
            return [*inputs[:place], r.choice(absent), *inputs[place + 1 :]]
        case "shuffle":
            return r.sample(inputs, len(inputs))
    return inputs


def check_edits(folder: Path, seed: int, steps: int) -> tuple[int, int]:
    """Edit and run at random, and return how many edits were applied and refused."""
    r, edits = Random(seed), Edits(folder)
    inputs, applied, refused = r.sample(NAMES, r.randint(1, 3)), 0, 0
    read: set[str] = set()
    edits.apply(inputs)
    for step in range(steps):
        ingest(edits.roots[r.choice(NAMES)])
        if r.random() < 0.7:
            edits.run()
            read = set(edits.order)
        new = edited(r, inputs)
        removed = read - set(new)
        message = edits.refusal(new, r.choice(["", f"_{step}"]))
        assert bool(message) == bool(removed)
        assert all(id_ in message for id_, name in edits.ids.items() if name in removed)
        if not removed:
            inputs, applied = new, applied + 1
            assert set(edits.order) == set(new)
            continue
        refused += 1
        if r.random() < 0.5:
            reset.reset(edits.store, edits.dataset)
            edits.apply(new)
            inputs, read = new, set()
    assert rejected_by_reference(edits.dataset) == []
    replay_all(edits.dataset)
    return applied, refused


def test_edits_of_inputs_give_chains_that_the_reference_accepts(tmp_path: Path) -> None:
    outcomes = [check_edits(tmp_path / str(seed), seed, 8) for seed in range(5)]
    assert sum(a for a, _ in outcomes) > 15
    assert sum(r for _, r in outcomes) >= 3


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_edits_of_inputs_give_chains_that_the_reference_accepts(tmp_path: Path, seed: int) -> None:
    check_edits(tmp_path, seed, 30)


def test_surviving_inputs_keep_their_places_and_new_ones_follow(tmp_path: Path) -> None:
    edits = Edits(tmp_path)
    edits.apply(["b", "a"])
    assert edits.order == ["b", "a"]
    edits.apply(["a", "b"])  # No query has read them yet.
    assert edits.order == ["a", "b"]
    edits.run()
    head = edits.dataset.head()
    edits.apply(["b", "a"], alias="")
    assert edits.order == ["a", "b"]
    edits.apply(["d", "b", "c", "a"])
    assert edits.order == ["a", "b", "d", "c"]
    edits.run()
    assert edits.dataset.head() != head
    assert rejected_by_reference(edits.dataset) == []


def test_removed_and_replaced_inputs_ask_for_a_reset(tmp_path: Path) -> None:
    edits = Edits(tmp_path)
    edits.apply(["a", "b", "c"])
    edits.run()
    a, b = replay(edits.roots["a"]).dataset_id, replay(edits.roots["b"]).dataset_id
    with pytest.raises(ManifestInvalid) as e:
        edits.apply(["d", "c"])
    assert str(e.value) == (
        f"{edits.file}:8:7: the dataset was computed from a ({a}), b ({b}), which the transform no longer has as "
        "input (restore it, or compute the dataset anew: run `odf reset derived`, then `odf run` with this manifest)"
    )
    reset.reset(edits.store, edits.dataset)
    edits.apply(["d", "c"])
    edits.run()
    assert (edits.order, rejected_by_reference(edits.dataset)) == (["d", "c"], [])


def test_a_chain_with_reordered_inputs_is_read_and_reported(tmp_path: Path) -> None:
    edits = Edits(tmp_path)
    edits.apply(["a", "b"])
    edits.run()
    state = replay(edits.dataset)
    assert state.transform is not None
    commit(edits.dataset, state, state.transform.model_copy(update={"inputs": state.transform.inputs[::-1]}))
    with pytest.raises(BlockRejected, match="the inputs were reordered or replaced"):
        edits.run()
    write_unchecked(edits)

    assert replay(edits.dataset).query_inputs.keys() == {replay(edits.roots[name]).dataset_id for name in "ab"}
    assert rejected_by_reference(edits.dataset) == [5]
    with pytest.raises(ChainCorrupted) as e:
        replay_all(edits.dataset)
    assert str(edits.dataset.head()) in str(e.value)
    assert "to compute the dataset anew, run `odf reset`" in str(e.value)

    edits.apply(["a", "b"])  # The places of the newest query count.
    edits.run()
    assert (edits.order, rejected_by_reference(edits.dataset)) == (["b", "a"], [5])


def write_unchecked(edits: Edits) -> None:
    """Write the block of a run as earlier versions did, which matched inputs by their ids."""
    state = replay(edits.dataset)
    block = model.MetadataBlock(
        system_time=TIME,
        prev_block_hash=state.head,
        sequence_number=state.sequence_number + 1,
        event=transform_event(edits.dataset, state, *(edits.roots[name] for name in edits.order)),
    )
    data = codec.encode(block, 3)
    block_hash = multiformats.sha3_256(data)
    edits.dataset.storage.put_if_absent(f"blocks/{block_hash}", data)
    edits.dataset.storage.compare_and_set_ref("head", state.head, block_hash)

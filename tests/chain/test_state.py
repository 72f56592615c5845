from __future__ import annotations

import json
import time

import pyarrow as pa
import pytest

from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import append, begin, replay
from airflow_provider_odf.errors import ChainCorrupted, DatasetNotFound
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.model import dump
from airflow_provider_odf.manifest.names import DatasetAlias

DID = "did:odf:fed016b65f9b5b23c00006b65f9b5b23c0000b056960700000000561226bab29c83f7"
DID2 = "did:odf:fed01666f6fb3b7370000666f6fb3b737000060f6f60600000000895cddbcb7f7b8cc"
TIME = Instant.parse("2024-05-02T08:00:00Z")
HASH = "f1620" + "ab" * 32


def state_of(value: str, name: str = "default") -> model.SourceState:
    return model.SourceState(source_name=name, kind="odf/etag", value=value)


@pytest.fixture
def draft(store):
    draft = Draft(store.create(DatasetAlias.parse("numbers")))
    draft.append(model.Seed(dataset_id=DID, dataset_kind="Root"), TIME)
    return draft


def test_chain_of_another_writer(foreign):
    state = replay(foreign("sensors"))
    assert state.kind == "Root"
    assert state.dataset_id == "did:odf:fed01a87ea3d21c84003a3f25a9f89a003f49542df4f1ecd04c65da7d974021197500"
    assert state.sequence_number == 9
    assert str(state.system_time) == "2024-05-04T08:00:00Z"
    assert state.last_offset == 3
    assert state.has_data
    assert str(state.watermark) == "2024-05-01T11:00:00.250Z"
    assert (state.polling_state, state.push_states) == (state_of("c.ndjson"), {})
    assert state.vocab.columns == ("seq", "change", "recorded", "measured")
    assert [(s.offset_interval.start, s.offset_interval.end) for s in state.slices] == [(0, 1), (2, 2), (3, 3)]
    assert state.merge == model.MergeStrategyLedger(primary_key=("measured", "sensor"))
    assert dump(state.polling_source)["read"] == {
        "kind": "NdJson",
        "ddlSchema": ["measured TIMESTAMP", "sensor STRING", "celsius DOUBLE", "ok BOOLEAN"],
    }
    assert dump(state.info) == {
        "kind": "SetInfo",
        "description": "Readings of three sensors",
        "keywords": ["sensors", "météo"],
    }
    assert state.license.spdx_id == "CC-BY-4.0"
    assert [(i.path, i.content) for i in state.attachments.attachments.items] == [
        ("README.md", "# Sensors\n\nThree of them.\n")
    ]
    assert state.arrow_schema().field("recorded") == pa.field("recorded", pa.timestamp("ms", "UTC"), nullable=False)


def test_state_at_an_older_block(foreign):
    sensors = foreign("sensors")
    older = next(h for h, b in sensors.walk() if b.sequence_number == 7)
    state = replay(sensors, older)
    assert (state.head, state.last_offset, len(state.slices)) == (older, 1, 1)
    with pytest.raises(DatasetNotFound, match="no ref 'candidate-x'"):
        replay(sensors, "candidate-x")


def test_fold_equals_block_by_block(foreign):
    sensors = foreign("sensors")
    (first_hash, first), *rest = reversed(list(sensors.walk()))
    state = begin(first_hash, first)
    for block_hash, block in rest:
        state = append(state, block_hash, block)
    assert state == replay(sensors)


def test_a_chain_that_breaks_a_rule_is_corrupted(foreign, tmp_path):
    """A block that hashes right and lies: system time goes back."""
    sensors = foreign("sensors")
    from airflow_provider_odf import multiformats
    from airflow_provider_odf.chain import codec

    bad = sensors.block(sensors.head()).model_copy(update={"system_time": Instant(0)})
    data = codec.encode(bad)
    block_hash = multiformats.sha3_256(data)
    sensors.storage.put_if_absent(f"blocks/{block_hash}", data)
    sensors.storage.compare_and_set_ref("head", sensors.head(), block_hash)
    with pytest.raises(ChainCorrupted, match=rf"blocks/{block_hash}: systemTime .* \(rule system-time\)"):
        replay(sensors)


def test_last_event_of_a_role_counts(draft):
    draft.append(model.SetVocab(offset_column="o", event_time_column="t"), TIME)
    draft.append(model.SetVocab(event_time_column="when"), TIME)
    assert draft.state.vocab.columns == ("offset", "op", "system_time", "when")
    draft.append(model.SetInfo(description="a"), TIME)
    draft.append(model.SetInfo(keywords=("b",)), TIME)
    assert draft.state.info == model.SetInfo(keywords=("b",))


def test_sources_come_and_go(draft):
    polling = model.SetPollingSource(
        fetch=model.FetchStepUrl(url="u"), read=model.ReadStepCsv(), merge=model.MergeStrategyLedger(primary_key=("a",))
    )
    draft.append(polling, TIME)
    assert draft.state.polling_source == polling
    draft.append(model.AddData(new_source_state=state_of("1")), TIME)
    draft.append(model.DisablePollingSource(), TIME)
    assert draft.state.polling_source is None
    assert draft.state.merge == model.MergeStrategyLedger(primary_key=("a",))
    push = model.AddPushSource(source_name="p", read=model.ReadStepCsv(), merge=model.MergeStrategyAppend())
    draft.append(push, TIME)
    draft.append(push.model_copy(update={"source_name": "q"}), TIME)
    assert list(draft.state.push_sources) == ["p", "q"]
    draft.append(model.DisablePushSource(source_name="p"), TIME)
    assert list(draft.state.push_sources) == ["q"]


def test_a_polling_source_without_state_forgets_it(draft):
    draft.append(
        model.SetPollingSource(
            fetch=model.FetchStepUrl(url="u"), read=model.ReadStepCsv(), merge=model.MergeStrategyAppend()
        ),
        TIME,
    )
    draft.append(model.AddData(new_source_state=state_of("1")), TIME)
    assert draft.state.polling_state == state_of("1")
    draft.append(model.AddData(new_watermark=TIME), TIME)
    assert draft.state.polling_state is None


def test_push_sources_keep_their_states_apart(draft):
    for name in ("p", "q"):
        draft.append(
            model.AddPushSource(source_name=name, read=model.ReadStepCsv(), merge=model.MergeStrategyAppend()), TIME
        )
        draft.append(model.AddData(new_source_state=state_of("1", name)), TIME)
    draft.append(model.AddData(new_source_state=state_of("2", "p")), TIME)
    assert draft.state.push_states == {"p": state_of("2", "p"), "q": state_of("1", "q")}


def test_schema_may_grow_by_optional_columns_in_any_order(draft):
    fields = [pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.string())]
    draft.append(chain_schema.set_data_schema(pa.schema(fields)), TIME)
    draft.append(chain_schema.set_data_schema(pa.schema([pa.field("c", pa.date32()), *fields[::-1]])), TIME)
    assert draft.state.arrow_schema().names == ["c", "b", "a"]


def test_schema_in_the_older_form_compares_with_the_newer(draft):
    small = pa.schema([pa.field("a", pa.large_string())])
    grown = pa.schema([pa.field("a", pa.string()), pa.field("b", pa.string())])
    draft.append(chain_schema.set_data_schema(small, manifest_version=2), TIME)
    assert draft.state.arrow_schema() == small
    draft.append(chain_schema.set_data_schema(grown, manifest_version=3), TIME)
    assert draft.state.arrow_schema() == grown


def test_derivative(store):
    draft = Draft(store.create(DatasetAlias.parse("derived")))
    draft.append(model.Seed(dataset_id=DID, dataset_kind="Derivative"), TIME)
    transform = model.SetTransform(
        inputs=(model.TransformInput(dataset_ref=DID2, alias="in"),),
        transform=model.TransformSql(engine="spark", query="SELECT 1"),
    )
    draft.append(transform, TIME)
    assert draft.state.transform.transform.queries == (model.SqlQueryStep(query="SELECT 1"),)

    def query(watermark: Instant, **fields):
        given = model.ExecuteTransformInput(dataset_id=DID2, **fields)
        return model.ExecuteTransform(query_inputs=(given,), new_watermark=watermark)

    draft.append(query(TIME, new_block_hash=HASH), TIME)
    assert draft.state.query_inputs[DID2].block_hash == HASH
    assert draft.state.query_inputs[DID2].offset is None
    other = "f1620" + "cd" * 32
    draft.append(query(TIME, prev_block_hash=HASH, new_block_hash=other, new_offset=0), TIME)
    assert draft.state.query_inputs[DID2].offset == 0
    draft.append(query(TIME.plus_ns(1), prev_block_hash=other, prev_offset=0), TIME)
    assert draft.state.query_inputs[DID2].block_hash == other
    assert str(draft.state.watermark) == "2024-05-02T08:00:00.000000001Z"


def test_long_chains_stay_cheap(store):
    draft = Draft(store.create(DatasetAlias.parse("long")))
    draft.append(model.Seed(dataset_id=DID, dataset_kind="Root"), TIME)
    for n in range(400):
        draft.append(model.AddData(new_source_state=state_of(json.dumps(n))), TIME)
    began = time.process_time()
    state = replay(draft.dataset, draft.state.head)
    assert (time.process_time() - began) / 400 < 0.001
    assert state == draft.state

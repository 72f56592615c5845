"""Polls of a real broker."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import spool
from tests import mosquitto

from .conftest import PATIENT


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with mosquitto.running(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture
def read(broker, poller, request):
    """Polls topics below the test's own; ``state`` is what the chain recorded."""
    poller.options = dataclasses.replace(PATIENT, mqtt_idle=0.3, read_timeout=10)
    poller.environment = {"PASSWORD": "pa55"}
    poller.dataset_id = request.node.name

    def poll(*topics, state=None, qos="AtLeastOnce", password="${{ env.PASSWORD }}", port=broker.port, **options):
        subscriptions = tuple(model.MqttTopicSubscription(path=f"{request.node.name}/{t}", qos=qos) for t in topics)
        step = model.FetchStepMqtt(
            host="127.0.0.1", port=port, username="me", password=password, topics=subscriptions or None
        )
        context = {k: options.pop(k) for k in ("past_states", "is_published") if k in options}
        return poller(step, state=state, options=dataclasses.replace(poller.options, **options), **context)

    return poll


@pytest.fixture
def publish(broker, request):
    return lambda topic, *texts, **how: broker.publish(f"{request.node.name}/{topic}", *texts, **how)


def test_messages_between_polls_are_one_input(read, publish, poller):
    assert read("+/temp", "door") is None
    publish("a/temp", '{"c": 1}', '{\n  "c": 2\n}')
    publish("door", " open ")
    publish("window", "open")
    polled = read("+/temp", "door")
    assert poller.content(polled) == [b'{"c": 1}\n{   "c": 2 }\nopen\n']
    (file,) = polled.files
    assert (file.label, str(file.event_time)) == (
        f"mqtt://127.0.0.1:{file.label.split(':')[2].split()[0]} {poller.dataset_id}/+/temp, {poller.dataset_id}/door",
        "2024-06-01T12:00:00Z",
    )
    assert (file.state.kind, file.state.value.partition("/")[2]) == ("odf/batch", "1")
    assert read("+/temp", "door", state=file.state) is None


def test_messages_stay_until_a_published_block_records_them(read, publish, poller):
    read("a")
    publish("a", "1")
    (first,) = read("a").files
    publish("a", "2")
    again = read("a")  # the merge of the first failed
    assert poller.content(again) == [b"1\n", b"2\n"]
    assert [f.state.value for f in again.files] == [first.state.value, first.state.value.replace("/1", "/2")]
    assert read("a", state=again.files[-1].state, is_published=False) is None  # a rejected candidate has them
    assert poller.content(read("a", state=first.state)) == [b"2\n"]  # the rejection has ended
    assert poller.content(read("a", state=first.state, is_published=False)) == [b"2\n"]
    assert read("a", state=again.files[-1].state) is None
    publish("a", "3")
    (third,) = read("a", state=again.files[-1].state).files
    assert read("a", state=third.state) is None
    assert sorted(p.name for p in poller.work.glob("spool-*/0*")) == ["00000002.published", "00000003.published"]


def test_batches_that_another_machine_has_overtaken(read, publish, poller):
    read("a")
    publish("a", "1")
    (file,) = read("a").files
    other = poller.state("odf/batch", "f00/7")
    assert poller.content(read("a", state=other, past_states=lambda: ["f00/6", "f00/7"])) == [b"1\n"]
    assert read("a", state=other, past_states=lambda: [file.state.value, "f00/7"]) is None


def test_batches_are_cut_and_the_time_is_limited(read, publish, poller):
    read("a")
    publish("a", *map(str, range(5)))
    assert poller.content(read("a", batch_records=2)) == [b"0\n1\n", b"2\n3\n", b"4\n"]
    is_over = threading.Event()

    def go_on():
        while not is_over.wait(0.05):
            publish("a", "5")

    thread = threading.Thread(target=go_on)
    thread.start()
    polled = read("a", mqtt_timeout=1)
    is_over.set()
    thread.join()
    assert polled.has_more
    assert polled.warnings == (f"{polled.files[0].label}: sends messages for more than 1 s: the next poll continues",)


POLL = """
    import dataclasses, os, signal, sys
    from pathlib import Path
    from airflow_provider_odf.manifest import model
    from airflow_provider_odf.source.mqtt import _Session
    from tests.source.conftest import PATIENT, Poller

    base, port, dataset, moment = sys.argv[1:]
    options = dataclasses.replace(PATIENT, mqtt_idle=0.3, read_timeout=10, batch_records=15)
    poller = Poller(Path(base) / "dags", Path(base) / "work", options=options, dataset_id=dataset)
    kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    if moment == "after an acknowledgement":
        keep, count = _Session._keep, []
        def killed(self):
            keep(self)
            count.append(1)
            len(count) > 1 and kill()
        _Session._keep = killed
    elif moment == "before an acknowledgement":
        new = _Session._new_client
        def unable(self):
            client, count = new(self), []
            ack = client.ack
            client.ack = lambda *a: kill() if len(count) > 5 else (count.append(1), ack(*a))
            return client
        _Session._new_client = unable
    else:
        from airflow_provider_odf.source.spool import Spool
        Spool.sync = kill
    topics = (model.MqttTopicSubscription(path=f"{dataset}/a", qos="ExactlyOnce"),)
    poller(model.FetchStepMqtt(host="127.0.0.1", port=int(port), username="me", password="pa55", topics=topics))
"""


@pytest.mark.parametrize(
    "moment", ["before the disk has them", "before an acknowledgement", "after an acknowledgement"]
)
def test_a_poll_that_is_killed_loses_and_doubles_nothing(broker, poller, moment):
    dataset = f"killed {moment}"
    poller.options, poller.dataset_id = dataclasses.replace(PATIENT, mqtt_idle=0.3, read_timeout=10), dataset
    topics = (model.MqttTopicSubscription(path=f"{dataset}/a", qos="ExactlyOnce"),)
    step = model.FetchStepMqtt(host="127.0.0.1", port=broker.port, username="me", password="pa55", topics=topics)
    assert poller(step) is None
    # Equal messages are several messages.
    broker.publish(f"{dataset}/a", *(str(i // 2) for i in range(100)), qos=2)
    command = [sys.executable, "-c", textwrap.dedent(POLL), poller.base.parent, str(broker.port), dataset, moment]
    killed = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    assert killed.returncode == -signal.SIGKILL
    lines = [int(line) for content in poller.content(poller(step)) for line in content.split()]
    assert lines == [i // 2 for i in range(100)]


def test_a_line_that_was_cut_is_none(tmp_path):
    with spool.opened(tmp_path / "s", "label", 10) as kept:
        kept.add(spool.Message(1, "t", "whole"))
        kept.sync()
        (batch,) = kept._batches()
    with batch.open("ab") as file:
        file.write(b'0123456789abcdef [2, "t", "cu')
    spool.write_texts(batch, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "whole\n"


def test_a_batch_that_was_changed(read, publish, poller):
    read("a")
    publish("a", "1")
    read("a")
    (batch,) = poller.work.glob("spool-*/0*")
    batch.write_text(batch.read_text().replace('"1"', '"2"'))
    with pytest.raises(SourceError, match=r"line 2 of .*/00000001 was changed, and its messages are nowhere else"):
        read("a")


def test_a_retained_message_is_read_once(read, publish, poller):
    publish("last", "21", retain=True)
    (file,) = read("last", qos="AtMostOnce").files
    assert read("last", qos="AtMostOnce", state=file.state) is None
    publish("last", "22", retain=True)
    polled = read("last", qos="AtMostOnce", state=file.state)
    assert poller.content(polled) == [b"22\n"]
    assert read("last", qos="AtMostOnce", state=polled.files[-1].state) is None


def test_topics_of_an_earlier_manifest_are_not_read(read, publish, poller):
    read("a")
    publish("a", "1")
    assert read("b") is None
    publish("b", "2")
    publish("a", "3")
    assert poller.content(read("b")) == [b"2\n"]


def test_a_message_that_is_no_text_stays(read, publish, poller):
    read("a")
    publish("a", "1", b"\xff")
    polled = read("a")
    assert poller.content(polled) == [b"1\n"]
    problem = f"{polled.files[0].label}: a message of topic {poller.dataset_id}/a is not UTF-8 text: publish text, or "
    assert polled.warnings == (f"{problem}leave the topic out of `topics`; earlier messages were kept",)
    with pytest.raises(SourceError, match="is not UTF-8 text"):
        read("a", state=polled.files[0].state)


def test_refusals(read, poller):
    with pytest.raises(
        SourceError, match=r"a: the broker refused the connection: (Not authorized|Bad user)"
    ) as refused:
        read("a", password="wrong")
    assert not isinstance(refused.value, SourceUnavailable)
    assert "wrong" not in str(refused.value)
    with pytest.raises(SourceUnavailable, match=r"cannot connect: .*Connection refused"):
        read("a", port=1, attempts=2)


def test_two_polls_at_once(read, poller):
    read("a")
    (folder,) = poller.work.glob("spool-*")
    with spool.opened(folder, "other", 1), pytest.raises(SourceUnavailable, match="another poll of the dataset is run"):
        read("a")


def test_a_missing_library_is_named(read, monkeypatch):
    monkeypatch.setitem(sys.modules, "paho.mqtt.client", None)
    with pytest.raises(
        InvalidInput, match=r"^paho-mqtt is not installed: `pip install 'airflow-provider-odf\[mqtt\]'`$"
    ):
        read("a")


def test_a_session_survives_a_restart_of_the_broker(tmp_path, poller):
    folder = tmp_path / "broker"
    folder.mkdir()
    poller.options = dataclasses.replace(PATIENT, mqtt_idle=0.3, read_timeout=10)
    topics = (model.MqttTopicSubscription(path="a", qos="AtLeastOnce"),)
    with mosquitto.running(folder) as broker:
        step = model.FetchStepMqtt(host="127.0.0.1", port=broker.port, username="me", password="pa55", topics=topics)
        assert poller(step) is None
        broker.publish("a", "1")
    with mosquitto.running(folder, broker.port):
        assert poller.content(poller(step)) == [b"1\n"]

"""FetchStep::Mqtt: messages of topics, one per line, as far as the broker sends them now.

A dataset has one persistent session, whose queue the broker keeps between polls. A message is acknowledged after it is
on the disk (see `spool`), so a poll that is killed loses none with a quality of service above ``AtMostOnce``, and the
broker repeats those without an acknowledgement, which the spool recognizes. Topics with ``ExactlyOnce`` are subscribed
with quality of service 1: at 2, the client library would acknowledge messages before anything is written.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.error_conversion import extra_not_installed
from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.manifest import fetch_kinds
from airflow_provider_odf.source import spool, work_area
from airflow_provider_odf.source.fetching import Context, Fetch, SourceFile, SourceFiles
from airflow_provider_odf.source.spool import Message, Spool
from airflow_provider_odf.source.transfer import Transfer, TryAgain

if TYPE_CHECKING:
    from paho.mqtt.client import MQTTMessage

    from airflow_provider_odf.manifest.model import FetchStepMqtt
    from airflow_provider_odf.source.options import Options

_TLS_PORT = 8883
_AT_ONCE = 1000
"""Maximum number of messages that are written to the disk together."""


@dataclass(frozen=True)
class Broker:
    """A step with its templates filled. ``topics`` are filters with their quality of service."""

    host: str
    port: int
    username: str | None
    password: str | None
    topics: tuple[tuple[str, int], ...]
    client_id: str
    label: str


def prepare(step: FetchStepMqtt, context: Context) -> Fetch:
    """Return how to read the topics of a step.

    :raises InvalidInput: a template cannot be filled, or the extra ``mqtt`` is not installed.
    """
    try:
        import paho.mqtt.client  # noqa: F401
    except ImportError as e:
        raise extra_not_installed("paho-mqtt", "mqtt") from e
    label = fetch_kinds.kind_of(step).label(step)

    def filled(text: str | None, field: str) -> str | None:
        return None if text is None else context.environment.fill(text, f"{field} of {label}")

    password = filled(step.password, "password")
    context.environment.hide(password)
    topics = tuple((str(filled(t.path, "topic")), int(t.qos not in (None, "AtMostOnce"))) for t in step.topics)
    # The session belongs to the dataset: another topic must not lose what the broker keeps for the others.
    client_id = f"odf-{hashlib.sha256((context.dataset_id or '').encode()).hexdigest()[:16]}"
    user = filled(step.username, "username")
    broker = Broker(str(filled(step.host, "host")), step.port, user, password, topics, client_id, label)
    return Fetch(lambda context: _fetch(broker, context), texts=repr(broker))


def _fetch(broker: Broker, context: Context) -> SourceFiles:
    """Return the batches that earlier polls left and those that the broker has now."""
    folder = context.directory.parent / f"{work_area.SPOOL}{broker.client_id}"
    warnings, has_more = list[str](), False
    with spool.opened(folder, broker.label, context.options.batch_records) as kept:
        kept.waiting(context)
        try:
            has_more = _receive(broker, kept, context)
        except SourceError as e:
            if not kept.waiting(context):
                raise
            warnings.append(f"{e}; earlier messages were kept")
        files = []
        for batch in kept.waiting(context):
            target = context.directory / f"batch-{batch.stem}"
            spool.write_texts(batch, target)
            files.append(SourceFile((target,), context.system_time, kept.state(batch), broker.label))
    if has_more:
        limit = f"{context.options.mqtt_timeout:g} s"
        warnings.append(f"{broker.label}: sends messages for more than {limit}: the next poll continues")
    return context.result(*files, warnings=tuple(warnings), has_more=has_more)


def _receive(broker: Broker, kept: Spool, context: Context) -> bool:
    """Keep the messages that the broker sends until it pauses. Return whether the time limit came first."""
    session = _Session(broker, kept, context.options)
    transfer = Transfer(broker.label, context.directory, context.options, context.tell)
    try:
        transfer.retry(session.connect)
        return session.read()
    finally:
        session.client.disconnect()


class _Session:
    """A connection to a broker. Callbacks run in `_loop`, in this thread."""

    def __init__(self, broker: Broker, kept: Spool, options: Options) -> None:
        self.broker, self.kept, self.options = broker, kept, options
        self.client = self._new_client()
        self.received: list[MQTTMessage] = []
        self.is_subscribed = False

    def _new_client(self) -> Any:
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion

        broker = self.broker
        client = Client(CallbackAPIVersion.VERSION2, broker.client_id, clean_session=False, manual_ack=True)
        client.connect_timeout = self.options.connect_timeout
        if broker.username is not None:
            client.username_pw_set(broker.username, broker.password)
        if broker.port == _TLS_PORT:
            client.tls_set()
        client.on_connect, client.on_subscribe, client.on_message = self._connected, self._subscribed, self._arrived
        return client

    def connect(self) -> None:
        """Connect and subscribe.

        :raises SourceError: the broker refuses the client or a topic.
        :raises TryAgain: it cannot be reached.
        """
        label, self.received, self.is_subscribed = self.broker.label, [], False
        try:
            self.client.connect(self.broker.host, self.broker.port)
        except (OSError, ValueError) as e:
            raise TryAgain(f"{label}: cannot connect: {e}") from None
        deadline = time.monotonic() + self.options.read_timeout
        while not self.is_subscribed:
            if time.monotonic() > deadline:
                raise TryAgain(f"{label}: the broker did not respond within {self.options.read_timeout:g} s")
            self._loop(0.1)

    def read(self) -> bool:
        """Keep messages until none has arrived for ``mqtt_idle`` seconds. Return whether ``mqtt_timeout`` came first.

        :raises SourceError: a message is no text.
        :raises SourceUnavailable: the connection is lost.
        """
        idle, start = self.options.mqtt_idle, time.monotonic()
        last = start
        while (now := time.monotonic()) < last + idle:
            if now > start + self.options.mqtt_timeout:
                return True
            self._loop(max(0.0, last + idle - now))
            count = -1
            while count < len(self.received) < _AT_ONCE:
                count = len(self.received)
                self._loop(0)
            if self.received:
                self._keep()
                last = time.monotonic()
        return False

    def _keep(self) -> None:
        """Write what has arrived to the disk, and acknowledge it then."""
        arrived, self.received = self.received, []
        try:
            for message in filter(self._is_wanted, arrived):
                if (one := self._message(message)).text and not self.kept.knows(one, is_repeated=message.dup):
                    self.kept.add(one)
        finally:
            self.kept.sync()
        for message in arrived:
            self.client.ack(message.mid, message.qos)

    def _is_wanted(self, message: MQTTMessage) -> bool:
        """Return whether a subscription matches. The session may still have those of an earlier manifest."""
        from paho.mqtt.client import topic_matches_sub

        filters = (f.split("/", 2)[2] if f.startswith("$share/") else f for f, _ in self.broker.topics)
        return any(topic_matches_sub(filter_, message.topic) for filter_ in filters)

    def _message(self, message: MQTTMessage) -> Message:
        try:
            text = message.payload.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise SourceError(
                f"{self.broker.label}: a message of topic {message.topic} is not UTF-8 text: publish text, or leave "
                "the topic out of `topics`"
            ) from None
        if text.startswith(("{", "[")):  # line breaks of JSON are only between its values
            text = text.replace("\r", " ").replace("\n", " ")
        return Message(message.mid if message.qos else 0, message.topic, text, message.retain)

    def _loop(self, seconds: float) -> None:
        if self.client.loop(seconds):
            # The broker has no message for it: a wrong password may also end the connection.
            raise TryAgain(f"{self.broker.label}: the broker closed the connection")

    def _connected(self, client: Any, _data: object, flags: Any, reason: Any, _properties: object) -> None:
        if reason.is_failure:
            kind = TryAgain if str(reason) == "Server unavailable" else SourceError
            raise kind(f"{self.broker.label}: the broker refused the connection: {reason}")
        if not flags.session_present:
            self.kept.forget_session()
        client.subscribe(list(self.broker.topics))

    def _subscribed(self, _client: object, _data: object, _mid: int, reasons: Any, _properties: object) -> None:
        for (topic, _), reason in zip(self.broker.topics, reasons, strict=True):
            if reason.is_failure:
                raise SourceError(f"{self.broker.label}: the broker refused the topic {topic}: {reason}")
        self.is_subscribed = True

    def _arrived(self, _client: object, _data: object, message: MQTTMessage) -> None:
        self.received.append(message)

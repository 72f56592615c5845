"""Kinds of fetch steps, one row each: their rules, their names in pages and lineage, and how far their states reach.

``fetch_steps.py`` has the fields of a step, and its module in ``source/`` fetches it and looks for a change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from airflow_provider_odf import ethereum_events, object_stores
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import fetch_steps as f
from airflow_provider_odf.manifest import log_filter, time_format
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.manifest.findings import Finding, rule, valid
from airflow_provider_odf.manifest.template import Environment, masked
from airflow_provider_odf.wording import suggestion

REMOTE = ("http", "https", "ftp", "ftps", *object_stores.SCHEMES)
"""Schemes of URLs whose data comes over a network."""

SCHEMES = (*REMOTE, "file")
"""Schemes of URLs that can be fetched."""

_LAST_PORT = 65535
_TEMPLATE = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
_MQTT_WILDCARDS = re.compile(r"/?[^/]*[+#].*", re.DOTALL)
"""The levels of a topic from the first wildcard on."""

Step = TypeVar("Step", bound=f.FetchStep)


class Naming(Enum):
    """How lineage names the source at an address."""

    URI = "by the scheme of a URI or path"
    GLOB = "by the folder of a glob"
    IMAGE = "by a registry of container images"
    LITERAL = "by the address as it is, up to its path and from there on"


@dataclass(frozen=True)
class FetchKind(Generic[Step]):
    """Properties of a kind of fetch step.

    A source state of one step counts for another with the same ``identity``. ``address`` is that of lineage, with
    templates as written, and None if lineage has no name for such sources.
    """

    module: str
    """Name of the module of ``source/``, see `source.fetchers.Fetcher`."""
    label: Callable[[Step], str] = lambda step: step.kind
    rules: Callable[[Step], Iterator[Finding]] = lambda step: iter(())
    identity: Callable[[Step], object] = lambda step: step
    address: Callable[[Step], str] | None = None
    naming: Naming = Naming.URI
    event_time: f.EventTimeSource | None = None
    """Source of the event time of a step without ``eventTime``, if it is not the time of the poll."""
    order: Callable[[Step], str] | None = None
    """Order of the files of a step, which data in the chain fixes."""
    one_of: tuple[str, ...] = ()
    """Fields of which a step needs one."""
    reads: str | None = None
    """Read step for its files, if they have one format."""


def kind_of(step: f.FetchStep) -> FetchKind[Any]:
    """Return the row of a step."""
    return FETCH_KINDS[step.kind]


@rule
def check(step: f.FetchStep) -> Iterator[Finding]:
    """Yield what is wrong with a fetch step."""
    yield from kind_of(step).rules(step)
    if message := lacks(step, "`"):
        yield Finding((), message)


def lacks(step: f.FetchStep, mark: str = "") -> str:
    """Return which fields a step needs one of and has not, each between marks, or an empty text."""
    fields = kind_of(step).one_of
    if not fields or any(getattr(step, field) is not None for field in fields):
        return ""
    spelled = (type(step).model_fields[field].alias or field for field in fields)
    return f"{step.kind} needs {' or '.join(f'{mark}{name}{mark}' for name in spelled)}"


def event_time(step: f.FetchStep) -> f.EventTimeSource:
    """Return the source of the event time of a file that a step fetches."""
    declared: f.EventTimeSource | None = getattr(step, "event_time", None)
    return declared or kind_of(step).event_time or f.EventTimeSourceFromSystemTime()


def carries_over(previous: f.FetchStep, current: f.FetchStep) -> bool:
    """Return whether a state of the previous fetch step is valid for the current one. An ETag belongs to one URL, and a
    date could hide older data at another. Headers, event time and the pattern of a glob may change."""
    kind = kind_of(previous)
    return previous.kind == current.kind and kind.identity(previous) == kind.identity(current)


def _topics(step: f.FetchStepMqtt) -> str:
    names = (_MQTT_WILDCARDS.sub("", _TEMPLATE.sub("+", topic.path)) or "/" for topic in step.topics)
    return f"mqtt://{step.host}:{step.port}/{','.join(dict.fromkeys(names))}"


class _Anything(dict[str, str]):
    """Environment in which every variable is set, to check only the form of a template."""

    def __missing__(self, name: str) -> str:
        return name

    def __contains__(self, name: object) -> bool:
        return True


def _url_rules(step: f.FetchStepUrl) -> Iterator[Finding]:
    yield from _url(step.url)
    yield from _headers(step.headers)
    if step.headers and object_stores.is_object(step.url):
        yield Finding(("headers",), "requests to object stores have no `headers` of the manifest", "remove them")
    yield from _event_time(step.event_time)


def _glob_rules(step: f.FetchStepFilesGlob) -> Iterator[Finding]:
    yield from _glob_path(step.path)
    yield from _event_time(step.event_time)
    yield from _order(step.order, step.event_time)


@rule
def _glob_path(path: str) -> Iterator[Finding]:
    if not path.strip():
        yield Finding(("path",), "`path` is empty")
    elif "${{" in path:
        yield Finding(("path",), "`path` cannot have templates", "write the whole path")
    elif object_stores.is_object(path):
        yield from _object("path", path)
        if re.search(r"[*?[]", path.partition("://")[2].partition("/")[0]):
            yield Finding(("path",), "a bucket cannot have wildcards", "write one source for each bucket")
    elif scheme := re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", path):
        yield Finding(("path",), f"{scheme[0]} has no folders that can be listed", "use a path or an object store")


@rule
def _object(field: str, uri: str) -> Iterator[Finding]:
    """Check the URI of an object, or of all that match a pattern."""
    try:
        bucket, key = object_stores.split(_TEMPLATE.sub("x", uri))
    except InvalidInput as e:
        yield Finding((field,), str(e))
        return
    if not key or uri.endswith("/"):
        fix = f"write {bucket}/{f'{key}/' if key else ''}NAME" + (", or use FilesGlob for a folder" * (field == "url"))
        yield Finding((field,), "the URI names no object", fix)


@rule
def _url(url: str) -> Iterator[Finding]:
    """Check a URL, or a path relative to the manifest."""
    yield from _template(("url",), url)
    if url.lstrip().startswith("${{"):
        return
    scheme, separator, rest = url.partition("://")
    if not url.strip():
        yield Finding(("url",), "`url` is empty")
    elif separator and scheme.lower() not in SCHEMES:
        yield Finding(("url",), f"{scheme}:// is not supported", suggestion(scheme, SCHEMES))
    elif object_stores.is_object(url):
        yield from _object("url", url)
    elif not _has_host(url) and url.partition(":")[0].lower() in REMOTE:
        yield Finding(("url",), "the URL has no host")
    elif (port := re.search(r":0*(\d+)$", rest.partition("/")[0])) and (len(port[1]) > 5 or int(port[1]) > _LAST_PORT):
        yield Finding(("url",), f"port {port[1]} is out of range: the highest is {_LAST_PORT}")
    elif separator and not rest:
        yield Finding(("url",), "the URL has no path")


@rule
def _headers(headers: Sequence[f.RequestHeader] | None) -> Iterator[Finding]:
    for index, header in valid(enumerate(headers or ())):
        yield from _template(("headers", index, "value"), header.value)


def _has_host(url: str) -> bool:
    try:
        return bool(urlsplit(url).netloc)
    except ValueError:
        return False


def _container(fetch: f.FetchStepContainer) -> Iterator[Finding]:
    yield from _image(fetch.image)
    yield from _arguments(fetch.args)
    yield from _variables(fetch.env)


def _mqtt_rules(step: f.FetchStepMqtt) -> Iterator[Finding]:
    for field in ("host", "username", "password"):
        yield from _template((field,), getattr(step, field))
    yield from _topic_filters(step.topics)


@rule
def _topic_filters(topics: Sequence[f.MqttTopicSubscription]) -> Iterator[Finding]:
    if not topics:
        yield Finding(("topics",), "`topics` is empty", "write at least one topic")
    for index, topic in valid(enumerate(topics)):
        path = ("topics", index, "path")
        yield from _template(path, topic.path)
        levels = masked(topic.path).split("/")
        if not topic.path or "#" in "".join(levels[:-1]) or any(len(x) > 1 and set(x) & set("+#") for x in levels):
            yield Finding(path, "not a topic filter", "write `+` for one whole level, or `#` as the last level")


def _logs_rules(step: f.FetchStepEthereumLogs) -> Iterator[Finding]:
    yield from _node(step.node_url)
    yield from _parsed("filter", step.filter, lambda text: log_filter.parse(text, str.encode))
    yield from _parsed("signature", step.signature, ethereum_events.split)


@rule
def _node(url: str | None) -> Iterator[Finding]:
    yield from _template(("node_url",), url)
    if url is None or url.lstrip().startswith("${{"):
        return
    if url.partition("://")[0].lower() not in ("http", "https") or not _has_host(url):
        yield Finding(("node_url",), "not a URL over http or https", "write it as in `https://node.example.org`")


@rule
def _parsed(field: str, text: str | None, parse: Callable[[str], object]) -> Iterator[Finding]:
    try:
        if text is not None:
            parse(text)
    except InvalidInput as e:
        yield Finding((field,), str(e))


@rule
def _image(image: str) -> Iterator[Finding]:
    yield from _template(("image",), image)
    if not image or re.search(r"\s", masked(image)):
        yield Finding(("image",), "not the name of an image", "write it as in `registry.example.org/name:tag`")


@rule
def _arguments(arguments: Sequence[str] | None) -> Iterator[Finding]:
    for index, argument in enumerate(arguments or ()):
        yield from _template(("args", index), argument)


@rule
def _variables(variables: Sequence[f.EnvVar] | None) -> Iterator[Finding]:
    for index, variable in valid(enumerate(variables or ())):
        yield from _template(("env", index, "value"), variable.value)


@rule
def _template(path: tuple[str | int, ...], text: str | None) -> Iterator[Finding]:
    try:
        Environment(_Anything()).fill(text or "", f"`{path[-1]}`")
    except InvalidInput as e:
        yield Finding(path, str(e))


@rule
def _event_time(source: f.EventTimeSource | None) -> Iterator[Finding]:
    if isinstance(source, f.EventTimeSourceFromPath):
        yield from (finding.under("event_time") for finding in _path_pattern(source.pattern))
        yield from (finding.under("event_time") for finding in _time_pattern(source.timestamp_format))


@rule
def _order(order: str | None, source: f.EventTimeSource | None) -> Iterator[Finding]:
    if order == "ByEventTime" and isinstance(
        source or f.EventTimeSourceFromSystemTime(), f.EventTimeSourceFromSystemTime
    ):
        message = "ordering by event time needs event times"
        yield Finding(("order",), message, "add `eventTime`: FromPath or FromMetadata")


@rule
def _path_pattern(pattern: str) -> Iterator[Finding]:
    try:
        if not time_format.path_pattern(pattern).groups:
            fix = r"put the timestamp into parentheses, as in `(\d{4}-\d\d-\d\d)`"
            yield Finding(("pattern",), "the pattern has no group", fix)
    except ValueError as e:
        yield Finding(("pattern",), f"not a regular expression: {e}")


@rule
def _time_pattern(pattern: str | None) -> Iterator[Finding]:
    try:
        time_format.check(pattern or time_format.DEFAULT_PATTERN)
    except ValueError as e:
        yield Finding(("timestamp_format",), str(e))


FETCH_KINDS: Mapping[str, FetchKind[Any]] = MappingProxyType({
    "Url": FetchKind[f.FetchStepUrl](
        module="url",
        label=lambda step: urls.public(step.url),
        rules=_url_rules,
        identity=lambda step: step.url,
        address=lambda step: step.url,
        event_time=f.EventTimeSourceFromMetadata(),
    ),
    "FilesGlob": FetchKind[f.FetchStepFilesGlob](
        module="files_glob",
        label=lambda step: step.path,
        rules=_glob_rules,
        identity=lambda step: step.order or "ByName",
        address=lambda step: step.path,
        naming=Naming.GLOB,
        order=lambda step: step.order or "ByName",
    ),
    "Container": FetchKind[f.FetchStepContainer](
        module="container",
        label=lambda step: f"container {step.image}",
        rules=_container,
        identity=lambda step: step.image.partition(":")[0],
        address=lambda step: step.image,
        naming=Naming.IMAGE,
    ),
    "Mqtt": FetchKind[f.FetchStepMqtt](
        module="mqtt",
        rules=_mqtt_rules,
        # A state names a batch of messages that was read, whatever the topics.
        identity=lambda step: None,
        label=lambda step: f"mqtt://{step.host}:{step.port} {', '.join(topic.path for topic in step.topics)}",
        address=_topics,
        naming=Naming.LITERAL,
    ),
    "EthereumLogs": FetchKind[f.FetchStepEthereumLogs](
        module="ethereum_logs",
        label=lambda step: "logs of " + (urls.public(step.node_url) if step.node_url else f"chain {step.chain_id}"),
        rules=_logs_rules,
        # Another node has the same blocks, and a changed filter is that of later blocks.
        identity=lambda step: step.chain_id,
        one_of=("chain_id", "node_url"),
        reads="Parquet",
    ),
})  # fmt: skip
"""Kind of a fetch step -> its row, in the order of their numbers in metadata blocks."""

"""Rules for fetch and prepare steps: invalid addresses, patterns and commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import fetch_steps as f
from airflow_provider_odf.manifest import time_format
from airflow_provider_odf.manifest.findings import Finding, rule, valid
from airflow_provider_odf.manifest.template import Environment, masked
from airflow_provider_odf.wording import suggestion

_WEB = ("http", "https", "ftp", "ftps")
SCHEMES = (*_WEB, "file")
_LAST_PORT = 65535


class _Anything(Mapping[str, str]):
    """Environment in which every variable is set, to check only the form of a template."""

    def __getitem__(self, name: str) -> str:
        return name

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


# --- fetch and prepare ----------------------------------------------------------------------------------------------


def check_fetch(fetch: f.FetchStep) -> Iterator[Finding]:
    yield from _address(fetch)
    yield from _event_time(fetch)


@rule
def _address(fetch: f.FetchStep) -> Iterator[Finding]:
    if isinstance(fetch, f.FetchStepUrl):
        yield from _url(fetch.url)
        yield from _headers(fetch.headers)
    elif isinstance(fetch, f.FetchStepFilesGlob):
        yield from _glob_path(fetch.path)
    elif isinstance(fetch, f.FetchStepContainer):
        yield from _container(fetch)
    elif isinstance(fetch, f.FetchStepEthereumLogs) and fetch.chain_id is None and fetch.node_url is None:
        yield Finding((), "EthereumLogs needs `chainId` or `nodeUrl`")


@rule
def _glob_path(path: str) -> Iterator[Finding]:
    if not path.strip():
        yield Finding(("path",), "`path` is empty")
    elif "${{" in path:
        yield Finding(("path",), "`path` cannot have templates", "write the whole path")


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
    elif not _has_host(url) and url.partition(":")[0].lower() in _WEB:
        yield Finding(("url",), "the URL has no host")
    elif (port := re.search(r":(\d+)$", rest.partition("/")[0])) and int(port[1]) > _LAST_PORT:
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


def _event_time(fetch: f.FetchStep) -> Iterator[Finding]:
    if isinstance(fetch, f.FetchStepUrl | f.FetchStepFilesGlob) and isinstance(
        fetch.event_time, f.EventTimeSourceFromPath
    ):
        yield from (finding.under("event_time") for finding in _path_pattern(fetch.event_time.pattern))
        yield from (finding.under("event_time") for finding in _time_pattern(fetch.event_time.timestamp_format))
    if isinstance(fetch, f.FetchStepFilesGlob):
        yield from _order(fetch.order, fetch.event_time)


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


@rule
def check_prepare(steps: Sequence[f.PrepStep] | None) -> Iterator[Finding]:
    for index, step in enumerate(steps or ()):
        if isinstance(step, f.PrepStepPipe):
            yield from (finding.under(index) for finding in _command(step.command))


@rule
def _command(command: Sequence[str]) -> Iterator[Finding]:
    if not command:
        yield Finding(("command",), "`command` is empty", "write the program and its arguments as separate list items")

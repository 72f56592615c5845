"""Secrets of every kind, in every place where one may stand, and everything that the real paths say about them."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import secrets
from pathlib import Path
from textwrap import indent
from urllib.parse import quote

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_odf import PollingSourceOperator, PollingSourceTrigger, PushSourceOperator
from airflow_provider_odf.dag.doc import doc_md
from airflow_provider_odf.manifest.load import load
from tests.manifests import pushed

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: orders
  kind: Root
  metadata:
    - kind: SetPollingSource
{fetch}
{prepare}
      read: {{kind: Csv, schema: ["a STRING"]}}
      merge: {{kind: Append}}
"""
PUSHED = pushed("pushed", '{kind: Csv, schema: ["a STRING"]}')


class Slots:
    """Random secrets by the place where they stand."""

    def __init__(self, monkeypatch) -> None:
        self.values: dict[str, str] = {}
        for name in ("ENV_TEMPLATE", "STORE_PASSWORD", "GH_TOKEN"):
            monkeypatch.setenv(name, self[name])
        extra = json.dumps({"private_key": self["extra"]})
        connection = {"conn_type": "http", "password": self["json password"], "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_AS_JSON", json.dumps(connection))
        monkeypatch.setenv(
            "AIRFLOW_CONN_AS_URI", f"http://me:{quote(self['uri password'])}@h?token={self['uri token']}"
        )
        monkeypatch.setenv("SOME_DSN", f"postgresql://me:{self['dsn password']}@db/x")

    def __getitem__(self, slot: str) -> str:
        return self.values.setdefault(slot, f"{secrets.token_urlsafe(9)}+{secrets.token_hex(4)}~x")

    def in_text(self, text: str) -> list[str]:
        """The places whose secret can be read in a text."""
        found = []
        for slot, value in self.values.items():
            forms = (value, quote(value, safe=""), base64.b64encode(value.encode()).decode(), value[4:])
            found += [slot for form in forms if form in text]
        return found


@pytest.fixture
def slots(monkeypatch):
    return Slots(monkeypatch)


@pytest.fixture
def said(tmp_path, slots, caplog, capfd):
    """Runs operators, the trigger, lineage and documentation of a manifest: all that they say."""
    caplog.set_level(logging.DEBUG, logger="airflow_provider_odf")

    def said(fetch, prepare="") -> str:
        text = MANIFEST.format(fetch=indent(f"fetch: {json.dumps(fetch)}", " " * 6), prepare=indent(prepare, " " * 6))
        (tmp_path / "orders.yaml").write_text(text)
        loaded = load([tmp_path / "orders.yaml"])
        assert loaded.problems == ()
        where = {"manifest": str(tmp_path / "orders.yaml"), "store": str(tmp_path / "store")}
        operator = PollingSourceOperator(task_id="poll", **where)
        trigger = PollingSourceTrigger(**where, poke_interval=0.01)
        out = [doc_md(loaded.manifests[0], "file:///x", None), repr(operator.get_openlineage_facets_on_start())]
        out.append(repr(trigger.serialize()))
        try:
            out.append(json.dumps(operator.execute({})))
        except (AirflowException, AirflowFailException) as e:
            out.append(f"{e!r} {e.__cause__!r}")
        out.append(repr(operator.get_openlineage_facets_on_complete(None)))
        out.append(asyncio.run(first_event(trigger)))
        captured = capfd.readouterr()
        return "\n".join((*out, caplog.text, captured.out, captured.err))

    return said


async def first_event(trigger) -> str:
    async for event in trigger.run():
        return repr(event.payload)
    return ""


def url_of(server, slots, path="/a.csv"):
    host = server.url.removeprefix("http://")
    query = f"year=2024&key={slots['key']}&subscription-key={slots['subscription']}&client_key={slots['client']}"
    return f"http://me:{quote(slots['user info'], safe='')}@{host}{path}?{query}&x=${{{{ env.ENV_TEMPLATE }}}}"


def headers_of(slots):
    literal = {"Authorization": f"Bearer {slots['bearer']}", "X-Api-Key": slots["header"], "Cookie": slots["cookie"]}
    filled = [{"name": "X-Filled", "value": "${{ env.ENV_TEMPLATE }}"}]
    return [{"name": name, "value": value} for name, value in literal.items()] + filled


@pytest.mark.parametrize("status", [200, 401, 418, 500])
def test_a_url_and_its_headers(server, slots, said, status, monkeypatch):
    monkeypatch.setenv("AIRFLOW__ODF__READ_TIMEOUT", "5")

    def echo(resource):
        path, headers = server.requests[-1]
        values = [part.rpartition("=")[2] for part in path.split("&")] + [
            v.rpartition(" ")[2] for v in headers.values()
        ]
        resource.status_body = " ".join(reversed(values)).encode()

    statuses = [status] * 20 if status != 200 else []
    fetch = {"kind": "Url", "url": url_of(server, slots), "headers": headers_of(slots)}
    server.serve("/a.csv", b"1\n", statuses=statuses, on_request=echo, status_headers={"Retry-After": "3600"})
    everything = said(fetch)
    sent = json.dumps(server.requests)
    assert all(slots[name] in sent for name in ("key", "header", "cookie", "ENV_TEMPLATE"))
    assert slots.in_text(everything) == []
    assert "year=2024" in everything


@pytest.mark.parametrize("code", [0, 3])
def test_a_pipe_that_prints_its_environment(server, slots, said, code):
    server.serve("/a.csv", b"1\n", etag='"1"')
    fetch = {"kind": "Url", "url": url_of(server, slots), "headers": headers_of(slots)}
    command = json.dumps(["sh", "-c", f"env >&2; cat; exit {code}"])
    everything = said(fetch, f"prepare: [{{kind: Pipe, command: {command}}}]")
    assert ("exit code 3" in everything) == bool(code)
    assert slots.in_text(everything) == []


def test_a_container_that_prints_its_environment(slots, said, tmp_path, monkeypatch):
    runtime = tmp_path / "runtime"
    script = 'echo "$@" > "$0.argv"; echo "$@" >&2; env >&2; exit 3'
    runtime.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit\n{script}\n')
    runtime.chmod(0o755)
    monkeypatch.setenv("AIRFLOW__ODF__CONTAINER_COMMAND", str(runtime))
    variables = {
        "API_KEY": slots["literal"],
        "FILLED": "${{ env.ENV_TEMPLATE }}",
        "GH_TOKEN": f"my {slots['shadowed']}",
    }
    env = [{"name": name, "value": value} for name, value in variables.items()]
    everything = said({"kind": "Container", "image": "img", "env": env})
    assert "exit code 3" in everything
    assert slots.in_text(everything) == []
    assert slots.in_text(Path(f"{runtime}.argv").read_text()) == []


def test_a_uri_of_a_conf(server, slots, tmp_path, monkeypatch, capfd):
    from types import SimpleNamespace

    monkeypatch.setenv("AIRFLOW__ODF__PUSH_PATHS", "*")
    (tmp_path / "pushed.yaml").write_text(PUSHED)
    server.serve("/a.csv", b"1\n")
    for path in ("/a.csv", "/no.csv"):
        uri = url_of(server, slots, path).partition("&x=")[0]
        operator = PushSourceOperator(
            task_id="push", manifest=str(tmp_path / "pushed.yaml"), store=str(tmp_path / "store")
        )
        try:
            out = json.dumps(operator.execute({"dag_run": SimpleNamespace(conf={"uri": uri})}))
        except AirflowFailException as e:
            out = str(e)
        out += repr(operator.get_openlineage_facets_on_complete(None))
        captured = capfd.readouterr()
        assert slots.in_text(out + captured.out + captured.err) == []

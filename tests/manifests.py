"""Manifests as YAML. What events consist of is text of YAML, too: ``{kind: Csv, schema: [id BIGINT]}``."""

from __future__ import annotations


def snapshot(name: str, *events: str, kind: str = "Root") -> str:
    """Return the manifest of a dataset."""
    events_or_none = "metadata:\n" + "".join(events) if events else "metadata: []\n"
    return f"kind: DatasetSnapshot\nversion: 1\ncontent:\n  name: {name}\n  kind: {kind}\n  {events_or_none}"


def event(kind: str, **properties: str) -> str:
    """Return an event; empty properties are left out."""
    texts = {name: text if text.startswith("\n") else f" {text}" for name, text in properties.items() if text}
    lines = (f"      {name}:{text}\n" for name, text in texts.items())
    return f"    - kind: {kind}\n{''.join(lines)}"


def polling(fetch: str, read: str, merge: str = "{kind: Append}", prepare: str = "", preprocess: str = "") -> str:
    """Return a polling source."""
    return event("SetPollingSource", fetch=fetch, prepare=prepare, read=read, preprocess=preprocess, merge=merge)


def push(read: str, merge: str = "{kind: Append}", source: str = "default", preprocess: str = "") -> str:
    """Return a push source."""
    return event("AddPushSource", sourceName=source, read=read, preprocess=preprocess, merge=merge)


def polled(
    name: str, fetch: str, read: str, merge: str = "{kind: Append}", prepare: str = "", preprocess: str = ""
) -> str:
    """Return the manifest of a dataset with a polling source alone."""
    return snapshot(name, polling(fetch, read, merge, prepare, preprocess))


def pushed(name: str, read: str, merge: str = "{kind: Append}") -> str:
    """Return the manifest of a dataset with one push source alone."""
    return snapshot(name, push(read, merge))


def derived(name: str, inputs: str, transform: str) -> str:
    """Return the manifest of a derivative; ``inputs`` are the items of a list: ``{datasetRef: orders, alias: o}``."""
    return snapshot(name, event("SetTransform", inputs=f"[{inputs}]", transform=transform), kind="Derivative")


def appending(name: str = "readings", fetch: str = "kind: FilesGlob\n        path: in/*.csv") -> str:
    """Return the manifest of a dataset that appends CSV files, for tests in which the source does not matter."""
    read, merge = '\n        kind: Csv\n        schema: ["id BIGINT"]', "\n        kind: Append"
    return polled(name, f"\n        {fetch}", read, merge)

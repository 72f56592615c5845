"""Several push sources of one dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

HEAD = "kind: DatasetSnapshot\nversion: 1\ncontent:\n  name: a\n  kind: Root\n  metadata:\n"
SNAPSHOT = "{kind: Snapshot, primaryKey: [id]}"


def source(name: str, schema: str = "id BIGINT, v STRING", merge: str = SNAPSHOT, rest: str = "") -> str:
    columns = ", ".join(f"'{column}'" for column in schema.split(", "))
    return (
        f"  - kind: AddPushSource\n    sourceName: {name}\n    read: {{kind: NdJson, schema: [{columns}]}}\n"
        f"    merge: {merge}\n{rest}"
    )


@pytest.mark.parametrize(
    ("other", "problems"),
    [
        (source("b", "V string, ID bigint"), []),
        (source("b", "id BIGINT, v STRING, event_time TIMESTAMP"), []),
        (source("b", "op INT, id BIGINT, v STRING", "{kind: ChangelogStream, primaryKey: [ID]}"), []),
        (source("b", rest="    preprocess: {kind: Sql, engine: spark, query: 'select id, v from input'}\n"), []),
        (
            source("b", merge="{kind: Append}"),
            ["m.yaml:14:5: Append cannot share a history with source a, which merges by Snapshot (use one"],
        ),
        (
            source("b", merge="{kind: Ledger, primaryKey: [id]}"),
            ["m.yaml:14:5: Ledger cannot share a history with source a, which merges by Snapshot (use one"],
        ),
        (
            source("b", merge="{kind: UpsertStream, primaryKey: [v]}"),
            ["m.yaml:14:33: the key is (v), that of source a is (id) (use the same key in all sources)"],
        ),
        (
            source("b", "id BIGINT"),
            ["m.yaml:13:5: column v of source a is missing here (all sources must have the same columns: add it "],
        ),
        (
            source("b", "id BIGINT, v STRING, w INT"),
            ["m.yaml:13:60: column w is not in source a (all sources must have the same columns: add it there)"],
        ),
        (
            source("b", "id BIGINT, v INT"),
            ["m.yaml:13:48: column v is INT here and STRING in source a (declare one type, or convert it in `prepr"],
        ),
    ],
)
def test_sources_of_one_dataset_agree(outcome: Callable[..., Any], other: str, problems: list[str]) -> None:
    found = outcome(HEAD + source("a") + other).problems
    assert [problem[: len(start)] for problem, start in zip(found, problems, strict=True)] == problems

# ruff: noqa: E501  (tables of cases, one a line)
"""Messages and places of what does not fit the models; rules across fields are tested beside their modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

EVENT = """\
kind: DatasetSnapshot
version: 1
content:
  name: a
  kind: Root
  metadata:
    - kind: AddPushSource
      sourceName: default
      read: NdJson
      merge: Append
    - {}
"""


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("{kind: SetInfo, descripton: x}", "m.yaml:11:23: unknown key `descripton` in SetInfo (did you mean `description`?)"),
        ("{kind: SetInfo, header: true}", "m.yaml:11:23: unknown key `header` in SetInfo (it belongs under `read`)"),
        ("{kind: AddPushSource, sourceName: a, read: {kind: Csv, schema: a INT}, merge: Append}", "m.yaml:11:70: `schema` must be a list of columns, not the string 'a INT' (write [a INT])"),
        ("{kind: SetInfo, zzz: x}", "m.yaml:11:23: unknown key `zzz` in SetInfo (known: kind, description, keywords)"),
        ("{kind: SetInfo, description: 5}", 'm.yaml:11:36: `description` must be a string, not the number 5 (write "5" in quotes)'),
        ("{kind: SetInfo, description: true}", 'm.yaml:11:36: `description` must be a string, not true (write "true" in quotes)'),
        ("{kind: SetInfo, description: [a]}", "m.yaml:11:23: `description` must be a string, not a list"),
        ("{kind: SetInfo, keywords: a}", "m.yaml:11:33: `keywords` must be a list, not the string 'a' (write [a])"),
        ("{kind: SetInfo, keywords: [a, 2]}", 'm.yaml:11:37: item 2 of `keywords` must be a string, not the number 2 (write "2" in quotes)'),
        ("{kind: SetLicense, name: n, websiteUrl: 'https://x'}", "m.yaml:11:7: SetLicense needs `shortName`"),
        ("{kind: SetLicence}", "m.yaml:11:14: 'SetLicence' is not a metadata event (did you mean `SetLicense`?)"),
        ("{kind: 5}", "m.yaml:11:14: 5 is not a metadata event (known: AddData, ExecuteTransform, Seed, SetPollingSource, SetTransform, SetVocab, SetAttachments, SetInfo, SetLicense, SetDataSchema, AddPushSource, DisablePushSource, DisablePollingSource)"),
        ("setinof", "m.yaml:11:7: 'setinof' is not a metadata event (did you mean `SetInfo`?)"),
        ("7", "m.yaml:11:7: item 2 of `metadata` must be a mapping, not the number 7"),
        ("{SetPollingSource: {fetch: {}}}", "m.yaml:11:7: a metadata event needs `kind` (write `kind: SetPollingSource`)"),
        ("{kind: SetAttachments, attachments: {}}", "m.yaml:11:30: a source of attachments needs `kind` (write `kind: Embedded`)"),
        ("{kind: AddPushSource, sourceName: b, read: {kind: Csv, header: yes}, merge: Append}", "m.yaml:11:70: `header` must be true or false, not the string 'yes'"),
        ("{kind: AddPushSource, sourceName: b, read: {kind: Csv, schema: [a INT, 5]}, merge: Append}", 'm.yaml:11:78: item 2 of `schema` must be a string, not the number 5 (write "5" in quotes)'),
        ("{kind: AddPushSource, sourceName: b, read: {kind: Csv, schema: [isbn: STRING]}, merge: Append}", 'm.yaml:11:71: item 1 of `schema` must be a string, not a mapping (write isbn STRING)'),
        ("{kind: AddPushSource, sourceName: b, read: {kind: Csv, schema: ['isbn': 'DECIMAL(8,2)']}, merge: Append}", 'm.yaml:11:71: item 1 of `schema` must be a string, not a mapping (write "isbn DECIMAL(8,2)")'),
        ("{kind: AddPushSource, sourceName: b, read: {kind: Csv, schema: [isbn: {type: STRING}]}, merge: Append}", 'm.yaml:11:71: item 1 of `schema` must be a string, not a mapping (write each column as NAME TYPE, without a colon after the name)'),
        ("{kind: AddPushSource, sourceName: b, read: {kind: Csv, schema: [a INT], ddlSchema: []}, merge: Append}", "m.yaml:11:79: `schema` and `ddlSchema` cannot be used together (keep one)"),
        ("{kind: AddPushSource, sourceName: b, read: {kind: Csv, schema: {fields: [{name: a, type: itn32}]}}, merge: Append}", "m.yaml:11:96: 'itn32' is not a data type (did you mean `Int32`?)"),
        ("{kind: AddPushSource, sourceName: b, read: {kind: Csv, schema: {fields: [{name: a, type: {kind: Decimal, precision: 100, scale: 1}}]}}, merge: Append}", "m.yaml:11:123: `precision` must be less than or equal to 76, not the number 100"),
        ("{kind: SetDataSchema, schema: '?'}", "m.yaml:11:37: not base64"),
    ],
)  # fmt: skip
def test_events(outcome: Callable[..., Any], event: str, expected: str) -> None:
    got = outcome(EVENT.format("").replace("    - \n", f"    - {event}\n"))
    assert got.problems == [expected]
    assert got.names == []


POLLED = (
    EVENT[: EVENT.index("    - kind")]
    + """\
    - kind: SetPollingSource
      fetch: {kind: FilesGlob, path: a}
      read: Csv
"""
)


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("merge: Ledger", "m.yaml:10:14: Ledger needs `primaryKey`"),
        ("merge: {kind: ledger, primaryKey: [a], key: b}", "m.yaml:10:46: unknown key `key` in ledger (known: kind, primaryKey)"),
        ("merge: Append\n      prepare: [{kind: Pipe, command: jq -c .x}]", "m.yaml:11:39: `command` must be a list, not the string 'jq -c .x' (write [jq, -c, \".x\"])"),
    ],
)  # fmt: skip
def test_a_source(outcome: Callable[..., Any], rest: str, expected: str) -> None:
    assert outcome(f"{POLLED}      {rest}\n").problems == [expected]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{name: a_b, kind: Root, metadata: []}", "m.yaml:3:17: 'a_b' is not a dataset name: letters, digits and single '-' or '.' between them; use 'a-b'"),
        ("{name: a, kind: Rot, metadata: []}", "m.yaml:3:26: 'Rot' is not a kind of dataset (did you mean `Root`?)"),
        ("{name: a, kind: Root}", "m.yaml:3:1: the manifest's `content` needs `metadata`"),
        ("{name: a, kind: Root, metadata: [], Root: 1}", "m.yaml:3:46: unknown key `Root` in the manifest's `content` (known: name, kind, metadata)"),
        ("[]", "m.yaml:3:1: the manifest's `content` must be a mapping, not a list"),
        ("", "m.yaml:3:9: the manifest's `content` must be a mapping, not nothing"),
    ],
)  # fmt: skip
def test_content(outcome: Callable[..., Any], content: str, expected: str) -> None:
    assert outcome(f"kind: DatasetSnapshot\nversion: 1\ncontent: {content}\n").problems == [expected]


def test_a_member_called_as_a_key_of_it(outcome: Callable[..., Any]) -> None:
    text = """\
        kind: DatasetSnapshot
        version: 1
        content:
          name: a
          kind: Root
          metadata:
            - kind: SetPollingSource
              fetch:
                kind: Url
                url: https://example.org/
                headers: [{name: x}]
              read: Csv
              merge: Append
        """
    assert outcome(text).problems == ["m.yaml:11:19: item 1 of `headers` needs `value`"]


def test_the_article_of_what_was_expected(outcome: Callable[..., Any]) -> None:
    source = "{kind: SetPollingSource, fetch: {kind: FilesGlob, path: a, order: ByNme}, read: Csv, merge: Append}"
    text = f"kind: DatasetSnapshot\nversion: 1\ncontent: {{name: a, kind: Root, metadata: [{source}]}}\n"
    assert outcome(text).problems == ["m.yaml:3:109: 'ByNme' is not an order of files (did you mean `ByName`?)"]

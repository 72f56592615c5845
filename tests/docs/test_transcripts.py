"""Pages that are followed word by word: every command is run, and gives the output that the page shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docs import transcript
from docs.pages import DOCS
from tests.shared_engine import shared_engine

PAGES = [
    "how-to/change-a-manifest.md",
    "how-to/poll-over-http.md",
    "how-to/read-a-dataset.md",
    "how-to/describe-a-dataset.md",
    "how-to/use-a-contract.md",
    "how-to/decide-on-held-back-inputs.md",
    "how-to/derive-a-dataset.md",
    "how-to/join-datasets.md",
    "how-to/reset-a-derivative.md",
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with shared_engine(tmp_path_factory.mktemp("engine")) as programs:
        yield programs


@pytest.mark.pages
@pytest.mark.spark
@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, programs: Path) -> None:
    check(page, programs)


def check(page: str, *programs: Path) -> None:
    """Run a page's commands and compare their output."""
    for command in transcript.run((DOCS / page).read_text(), *programs):
        assert command.agrees, f"{page}:{command.line - 1}: $ {command.command}\n" + "\n".join(command.given)


def test_output_agrees_but_for_hashes_and_times() -> None:
    recorded = ("offset   system_time", "───────", "0   2026-11-21T10:48:36.944Z  f1620ab")
    given = ("offset   system_time", "────────", "0   2027-01-01T00:00:00.5Z    f1620cd")
    assert transcript.Command("odf tail x", recorded, given, 1).agrees
    whole_second = (*given[:2], "0   2027-01-01T00:00:00Z    f1620cd")
    assert transcript.Command("odf tail x", recorded, whole_second, 1).agrees
    assert not transcript.Command("odf tail x", recorded, (*given[:2], "1   2027-01-01T00:00:00.5Z f1620cd"), 1).agrees


def test_a_time_without_a_fraction_is_the_data_s_and_agrees_with_itself_only() -> None:
    recorded = ("2026-05-22T00:00:00Z",)
    assert transcript.Command("odf tail x", recorded, recorded, 1).agrees
    assert not transcript.Command("odf tail x", recorded, ("2026-05-23T00:00:00Z",), 1).agrees


def test_an_ellipsis_stands_for_any_lines() -> None:
    assert transcript.Command("x", ("a", "...", "d"), ("a", "b", "c", "d"), 1).agrees
    assert transcript.Command("x", ("...",), (), 1).agrees
    assert not transcript.Command("x", ("a", "...", "d"), ("a", "b", "c"), 1).agrees
    assert not transcript.Command("x", (), ("a",), 1).agrees


def test_a_page_is_rewritten_with_what_its_commands_give() -> None:
    page = (
        "<!-- file: a.txt -->\n```text\nhello\n```\n\n```console\n$ cat a.txt\nold\n$ export B=$PWD/c\n$ echo $B\n```\n"
    )
    assert transcript.rewritten(page) == page.replace("old", "hello").replace("$B\n", "$B\nc\n")

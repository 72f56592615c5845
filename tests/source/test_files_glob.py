from __future__ import annotations

import dataclasses
import os

import pytest

from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import local


@pytest.fixture
def folder(poller):
    """Makes files whose content is their name."""

    def make(*names, mtime=1714651200):
        for name in names:
            path = poller.base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
            os.utime(path, (mtime, mtime))

    return make


def states(polled):
    return [(file.state.kind, file.state.value) for file in polled.files]


def test_every_new_file_in_the_order_of_base_names(poller, folder):
    folder("in/b-2.csv", "in/a-3.csv", "in/B-1.csv", "in/é.csv", "in/skip.txt", "in/.hidden.csv")
    (poller.base / "in" / "folder.csv").mkdir()
    polled = poller.glob("in/*.csv")
    assert [file.label for file in polled.files] == ["in/B-1.csv", "in/a-3.csv", "in/b-2.csv", "in/é.csv"]
    assert poller.content(polled) == [b"in/B-1.csv", b"in/a-3.csv", b"in/b-2.csv", "in/é.csv".encode()]
    assert states(polled) == [("odf/etag", n) for n in ("B-1.csv", "a-3.csv", "b-2.csv", "é.csv")]
    assert {str(file.event_time) for file in polled.files} == {"2024-06-01T12:00:00Z"}


def test_the_state_skips_what_sorts_before(poller, folder):
    folder("a.csv", "b.csv", "c.csv")
    assert poller.glob("*.csv", poller.state("odf/etag", "c.csv")) is None
    assert poller.leftovers == []
    assert states(poller.glob("*.csv", poller.state("odf/etag", "b.csv"))) == [("odf/etag", "c.csv")]


def test_recursive_and_absolute_patterns(poller, folder):
    folder("x/2.csv", "x/y/1.csv", "3.csv")
    assert [f.label for f in poller.glob("**/*.csv").files] == ["x/y/1.csv", "x/2.csv", "3.csv"]
    assert [f.label for f in poller.glob(f"{poller.base}/x/*.csv").files] == [f"{poller.base}/x/2.csv"]


def test_no_match_is_an_error_only_at_first(poller):
    with pytest.raises(SourceError, match=r"^in/\*\.csv: no file matches in .*/dags$"):
        poller.glob("in/*.csv")
    assert poller.glob("in/*.csv", poller.state("odf/etag", "a.csv")) is None


def test_files_that_come_too_late_are_named(poller, folder):
    folder("a.csv", "b.csv", "c.csv", "d.csv")
    polled = poller.glob("*.csv", poller.state("odf/etag", "c.csv"), past_states=lambda: {"a.csv", "c.csv"})
    warning = (
        "*.csv: skipped files that sort before ingested ones: b.csv "
        "(ingest them with `odf push`, then move them to another folder)"
    )
    assert polled.warnings == (warning,)
    assert poller.messages == [f"warning: {warning}"]
    assert (
        poller.glob("*.csv", poller.state("odf/etag", "d.csv"), past_states=lambda: {"a.csv", "c.csv", "d.csv"}) is None
    )
    assert poller.messages == [f"warning: {warning}"] * 2


def test_a_second_file_of_a_name_that_was_taken_is_late(poller, folder):
    folder("x/a.csv", mtime=1714651300)
    folder("y/a.csv", mtime=1714651200)
    state = poller.state("odf/etag", "a.csv")
    polled = poller.glob("*/a.csv", state, past_states=lambda: ["a.csv", "a.csv"])
    assert (polled, poller.messages) == (None, [])
    poller.glob("*/a.csv", state, past_states=lambda: ["a.csv"])
    assert poller.messages == [
        "warning: */a.csv: skipped files that sort before ingested ones: x/a.csv "
        "(ingest them with `odf push`, then move them to another folder)"
    ]


def test_each_file_once_whatever_leads_to_it(poller, folder):
    folder("in/a.csv", "in/sub/b.csv")
    (poller.base / "in" / "loop").symlink_to(".")
    (poller.base / "in" / "c.csv").symlink_to("a.csv")
    (poller.base / "in" / "dangling.csv").symlink_to("nowhere")
    os.mkfifo(poller.base / "in" / "pipe.csv")
    labels = ["in/a.csv", "in/sub/b.csv", "in/c.csv"]
    assert [file.label for file in poller.glob("in/**/*.csv").files] == labels
    assert [file.label for file in poller.glob("in/**/**/*.csv").files] == labels


def test_a_link_out_of_the_folder_is_refused(poller, folder, tmp_path):
    folder("in/a.csv", "other/b.csv", "in/deep/c.csv")
    (tmp_path / "secret.csv").write_text("s3cr3t")
    (poller.base / "way-in").symlink_to("in")
    assert [file.label for file in poller.glob("way-in/*.csv").files] == ["way-in/a.csv"]
    links = {"in/d.csv": tmp_path / "secret.csv", "in/e": poller.base / "other", "in/deep/f.csv": "../../other/b.csv"}
    for name, target in links.items():
        (poller.base / name).symlink_to(target)
        with pytest.raises(
            SourceError, match=rf"^{name}.*: a symbolic link points outside .*/dags/in, which is refused: remove"
        ):
            poller.glob("in/**/*.csv")
        (poller.base / name).unlink()
        (poller.base / name).symlink_to(target)
        poller.options = dataclasses.replace(poller.options, outside_links=True)
        assert len(poller.glob("in/**/*.csv").files) == 3
        poller.options = dataclasses.replace(poller.options, outside_links=False)
        (poller.base / name).unlink()
    (poller.base / "in" / "named.csv").symlink_to(tmp_path / "secret.csv")
    assert poller.content(poller.glob("in/named.csv")) == [b"s3cr3t"]  # by the manifest's author


def test_by_event_time_orders_by_time_and_keeps_its_own_state(poller, folder):
    folder("b-20240501.csv", "a-20240502.csv", "c-20240501.csv")
    pattern = model.EventTimeSourceFromPath(pattern=r"(\d{8})", timestamp_format="yyyyMMdd")
    polled = poller.glob("*.csv", order="ByEventTime", event_time=pattern)
    assert states(polled) == [
        ("odf/event-time", "2024-05-01T00:00:00Z b-20240501.csv"),
        ("odf/event-time", "2024-05-01T00:00:00Z c-20240501.csv"),
        ("odf/event-time", "2024-05-02T00:00:00Z a-20240502.csv"),
    ]
    rest = poller.glob("*.csv", polled.files[0].state, order="ByEventTime", event_time=pattern)
    assert [file.label for file in rest.files] == ["c-20240501.csv", "a-20240502.csv"]
    assert [str(file.event_time) for file in rest.files] == ["2024-05-01T00:00:00Z", "2024-05-02T00:00:00Z"]
    known = {file.state.value for file in polled.files}
    folder("late-20240430.csv")
    last = poller.glob(
        "*.csv", polled.files[-1].state, order="ByEventTime", event_time=pattern, past_states=lambda: known
    )
    assert last is None
    assert "ingested ones: late-20240430.csv (ingest them" in poller.messages[-1]


def test_by_event_time_needs_event_times(poller, folder):
    folder("a.csv")
    with pytest.raises(InvalidInput, match=r"^\*\.csv: order ByEventTime needs eventTime FromPath or FromMetadata$"):
        poller.glob("*.csv", order="ByEventTime")


def test_event_time_from_metadata(poller, folder):
    folder("a.csv", mtime=1714636800)
    polled = poller.glob("*.csv", event_time=model.EventTimeSourceFromMetadata())
    assert str(polled.files[0].event_time) == "2024-05-02T08:00:00Z"


def test_a_file_still_being_written_and_all_after_it_wait(poller, folder, monkeypatch):
    folder("a.csv", "b.csv", "c.csv")
    copy = local.copy

    def busy(source, target, label):
        if source.name == "b.csv":
            raise SourceUnavailable("b.csv: the file changed while it was read")
        return copy(source, target, label)

    monkeypatch.setattr(local, "copy", busy)
    polled = poller.glob("*.csv")
    assert [file.label for file in polled.files] == ["a.csv"]
    assert polled.warnings == (
        "b.csv: the file changed while it was read (this file and those after it wait for the next poll)",
    )
    with pytest.raises(SourceUnavailable):
        poller.glob("*.csv", polled.files[0].state)


def test_thousands_of_files(poller, folder):
    folder(*(f"f{n:04}.csv" for n in range(2000)))
    polled = poller.glob("f*.csv")
    assert len(polled.files) == 2000
    assert polled.files[-1].paths[0].read_text() == "f1999.csv"


def test_an_empty_file_at_the_end_waits_for_its_content(poller, folder):
    folder("a.csv", "b.csv", "c.csv", "d.csv")
    for name in ("b.csv", "d.csv"):
        (poller.base / name).write_text("")
    polled = poller.glob("*.csv")
    assert [file.label for file in polled.files] == ["a.csv", "b.csv", "c.csv"]
    waits = "skipped empty files: d.csv. A later poll reads them when they are no longer empty"
    assert polled.warnings == (
        "empty files that sort before other files count as ingested: b.csv. "
        "Later polls do not read them, even if they are no longer empty",
        waits,
    )
    poller.messages.clear()
    last = polled.files[-1].state
    assert (poller.glob("*.csv", last), poller.messages) == (None, [f"warning: {waits}"])
    folder("d.csv")
    assert [file.label for file in poller.glob("*.csv", last).files] == ["d.csv"]


def test_discarded_files_are_new_once_they_change(poller, folder):
    folder("a.csv", "b.csv")
    (a, b) = poller.glob("*.csv").files
    assert (a.stamp, b.stamp) == ("1714651200000000000 5",) * 2
    step, discarded = model.FetchStepFilesGlob(path="*.csv"), {"a.csv": a.stamp, "b.csv": b.stamp}
    assert poller(step, discarded=discarded) is None
    folder("a.csv", mtime=1714651201)
    assert [file.label for file in poller(step, discarded=discarded).files] == ["a.csv"]

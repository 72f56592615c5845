"""Prepare steps, one after another."""

from __future__ import annotations

import gzip

from airflow_provider_odf.manifest import model

from .archives import GZIP, unzip, zipped


def test_steps_follow_each_other(polled):
    archive = zipped({"b.gz": gzip.compress(b"b2\nb1\n"), "a.gz": gzip.compress(b"a2\na1\n")})
    assert polled(archive, unzip("*.gz"), GZIP, model.PrepStepPipe(command=("sort",))) == [b"a1\na2\n", b"b1\nb2\n"]


def test_nothing_of_the_steps_between_stays(poller, polled):
    polled(gzip.compress(b"abc"), GZIP, model.PrepStepPipe(command=("cat",)))
    assert sorted(path.name for path in poller.work.rglob("*") if path.is_file()) == ["file-0-1", "seal.json"]

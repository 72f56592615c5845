"""Patterns match as in V8, the engine of Node, in each of the engines that the provider uses."""

from __future__ import annotations

import random
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import regex

from airflow_provider_odf.contract import ecma_patterns
from airflow_provider_odf.engine.sql import matches, text

from . import v8

pytestmark = [pytest.mark.spark, pytest.mark.torture]


def java(spark, patterns: list[str], texts: list[str]) -> list[list[bool]]:
    values = f"array({', '.join(map(text, texts))})"
    found: list[list[bool]] = []
    for first in range(0, len(patterns), 100):
        columns = (f"transform(x, t -> {matches('t', p)}) AS c{i}" for i, p in enumerate(patterns[first : first + 100]))
        found += spark.sql(f"SELECT {values} AS x").selectExpr(*columns).collect()[0]
    return found


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
@pytest.mark.parametrize("seed", range(5))
def test_patterns_match_as_in_v8(spark, seed: int):
    r = random.Random(seed)
    patterns = [v8.pattern(r) for _ in range(1000)]
    expected = v8.judged(patterns, v8.TEXTS)
    accepted: list[str] = []
    for p, truth in zip(patterns, expected, strict=True):
        try:
            ecma_patterns.to_java(p)
        except ValueError:
            continue
        assert truth is not None, f"V8 refuses {p!r}"
        accepted.append(p)
    valid = sum(truth is not None for truth in expected)
    truths = dict(zip(patterns, expected, strict=True))
    engines = {"java": dict(zip(accepted, java(spark, [*map(ecma_patterns.to_java, accepted)], v8.TEXTS), strict=True))}
    engines["python"] = {p: [bool(regex.search(ecma_patterns.to_python(p), t)) for t in v8.TEXTS] for p in accepted}
    engines["re2"] = {
        p: pc.match_substring_regex(pa.array(v8.TEXTS), ecma_patterns.to_re2(p)).to_pylist()
        for p in accepted
        if ecma_patterns.is_regular(p)
    }
    wrong = [
        (engine, p, t, want)
        for engine, results in engines.items()
        for p, matched in results.items()
        for t, got, want in zip(v8.TEXTS, matched, truths[p][1], strict=True)
        if got != want and not (truths[p][0] == "" and not t.isascii() and max(t) > "\uffff")
    ]
    print(f"seed {seed}: {valid} valid in V8, {len(accepted)} accepted, {len(engines['re2'])} in RE2")
    assert not wrong, wrong[:10]

"""The primary key and the merge strategy of samples, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from airflow_provider_odf.inference.column_types import ColumnType
from airflow_provider_odf.inference.sample import Sample
from airflow_provider_odf.wording import counted, listed

_WIDEST_KEY = 3
_MOST_COLUMNS = 8
"""Columns of which combinations are tried."""

_NAMES = ("id", "key", "code", "uuid", "number", "no", "nr", "sku", "name")


@dataclass(frozen=True)
class Merge:
    """Merge strategy with its key, and the column of event times if it has one."""

    kind: str
    key: tuple[str, ...]
    reasons: tuple[str, ...]
    event_time: str | None = None


def infer(samples: Sequence[Sample], types: Mapping[str, ColumnType]) -> Merge:
    """Return the merge strategy that fits one or two samples of a source."""
    candidates = list(_keys(samples, types))
    times = [n for n, t in types.items() if t.sql in ("DATE", "TIMESTAMP") and _is_full(samples, n)]
    time = times[0] if times else None
    if not candidates:
        why = ". ".join(
            ["no columns have unique values without nulls, so there is no key: rows are added", *_again(samples)]
        )
        return Merge("Append", (), (why,), time)
    key = candidates[0]
    kind, why = _strategy(samples, key, time)
    return Merge(kind, key, (why, _about(key, candidates[1:5], samples)), time if kind == "Ledger" else None)


def _about(key: Sequence[str], others: Sequence[Sequence[str]], samples: Sequence[Sample]) -> str:
    where = "both samples" if len(samples) > 1 else "the sample"
    about = f"{', '.join(key)} {'is' if len(key) == 1 else 'are'} unique and never null in {where}"
    also = [other[0] if len(other) == 1 else f"({', '.join(other)})" for other in others]
    return f"{about}, as {'are' if len(also) > 1 else 'is'} {listed(also)}" if also else about


def _strategy(samples: Sequence[Sample], key: Sequence[str], time: str | None) -> tuple[str, str]:
    if len(samples) == 1:
        return "Snapshot", (
            "assumes that each file has all current rows. If files have only new rows, use Ledger. "
            "A second sample, `odf new A B`, shows it"
        )
    before, after = (_by_key(sample, key, samples[0].columns) for sample in samples)
    shared = before.keys() & after.keys()
    changed, gone = sum(before[k] != after[k] for k in shared), len(before) - len(shared)
    if changed:
        return "Snapshot", f"{counted(changed, 'row')} of both samples changed under the same key"
    if not shared:
        return "Ledger", "the second sample has only new keys, so each file has new rows"
    if gone:
        return "Snapshot", f"{counted(gone, 'row')} of the first sample disappeared"
    if time is not None and len(after) > len(before):
        return "Ledger", f"rows were only added, and {time} has their times"
    return "Snapshot", "nothing shows that rows are events: they have no times, or none was added"


def _again(samples: Sequence[Sample]) -> Iterator[str]:
    if len(samples) > 1 and (again := len(set(map(repr, samples[0].rows)) & set(map(repr, samples[1].rows)))):
        yield f"the second sample repeats {counted(again, 'row')} of the first one, which would be added again"


def _by_key(sample: Sample, key: Sequence[str], columns: Sequence[str]) -> dict[tuple[Any, ...], str]:
    keys = zip(*(sample.values(name) for name in key), strict=True)
    places = [sample.columns.index(name) if name in sample.columns else None for name in columns]
    rows = (repr([None if at is None else row[at] for at in places]) for row in sample.rows)
    return dict(zip(keys, rows, strict=True))


def _keys(samples: Sequence[Sample], types: Mapping[str, ColumnType]) -> Iterator[tuple[str, ...]]:
    """Yield the narrowest keys, the likeliest first."""
    usable = [n for n, t in types.items() if t.sql not in ("DOUBLE", "BOOLEAN") and "nested" not in t.reason]
    usable = sorted((n for n in usable if _is_full(samples, n)), key=lambda n: _rank(n, types[n], list(types)))
    for width in range(1, _WIDEST_KEY + 1):
        # Of several columns, the first ones say what a row is about; the last ones are measured.
        columns = usable if width == 1 else [n for n in types if n in usable][:_MOST_COLUMNS]
        keys = [key for key in combinations(columns, width) if all(_is_unique(s, key) for s in samples)]
        if keys:
            yield from keys
            return


def _rank(name: str, kind: ColumnType, order: Sequence[str]) -> tuple[bool, bool, int]:
    is_named = name.lower().split("_")[-1] in _NAMES or name.lower().endswith("id")
    return kind.sql in ("DATE", "TIMESTAMP") or kind.sql.startswith("DECIMAL"), not is_named, order.index(name)


def _is_full(samples: Sequence[Sample], name: str) -> bool:
    return all(name in s.columns and None not in s.values(name) for s in samples)


def _is_unique(sample: Sample, key: Sequence[str]) -> bool:
    try:
        values = list(zip(*(sample.values(name) for name in key), strict=True))
        return len(set(values)) == len(values)
    except TypeError:  # nested values
        return False

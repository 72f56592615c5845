"""CSV that Arrow writes, against rows that the csv module writes one by one."""

import csv
import io
import math
import random
import struct
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from airflow_provider_odf.merge_strategies import OPERATION_NAMES
from airflow_provider_odf.records import csv_rows, json_rows
from airflow_provider_odf.wording import cell

SECOND = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
YEARS = (-62135596800, 253402300800)


def by_row(batch):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in json_rows.rows(pa.Table.from_batches([batch]), "op"):
        writer.writerow(map(cell, row.values()))
    return text.getvalue().encode()


def test_values():
    batch = pa.record_batch(
        {
            "op": pa.array([0, 3, 9], pa.int32()),
            "at": pa.array([1714636800000, 1714636800120, None], pa.timestamp("ms", "UTC")),
            "day": pa.array([date(2024, 5, 2), None, date(1, 1, 1)]),
            "price": pa.array([Decimal("1.50"), Decimal("-0.05"), None]),
            "ratio": pa.array([2.0, 1e-5, math.nan]),
            "note": pa.array(['said "yes", twice', None, "Genève\n"]),
            "is_on": pa.array([True, False, None]),
            "ids": pa.array([[1, 2], [], None], pa.list_(pa.int64())),
        }
    )
    assert csv_rows.header(batch.schema.names) == b"op,at,day,price,ratio,note,is_on,ids\n"
    assert csv_rows.lines(batch, "op").decode() == (
        '+A,2024-05-02T08:00:00Z,2024-05-02,1.50,2.0,"said ""yes"", twice",true,"[1, 2]"\n'
        "+C,2024-05-02T08:00:00.120Z,,-0.05,1e-05,,false,[]\n"
        '9,,0001-01-01,,NaN,"Genève\n",,\n'
    )


def test_a_single_column_has_no_empty_lines():
    assert csv_rows.lines(pa.record_batch({"a": ["", None, "x", ","]})) == b'""\n""\nx\n","\n'
    assert csv_rows.lines(pa.record_batch({"a": pa.array([], pa.string())})) == b""


def kinds(chance):
    """Types, and a function for each that makes a value that Arrow and Python may write differently."""

    def float64():
        special = [0.0, -0.0, math.nan, math.inf, -math.inf, 1e-4, 9.999e-5, 1e10, 9999999999.9, 1e15, 1e16]
        makers = (
            lambda: chance.choice(special),
            lambda: struct.unpack("<d", chance.randbytes(8))[0],
            lambda: chance.choice([-1, 1]) * 10 ** chance.uniform(-8, 18),
            lambda: round(chance.uniform(-1000, 1000), chance.randrange(6)),
            lambda: float(chance.randrange(-(10**6), 10**12)),
        )
        return chance.choice(makers)()

    def text():
        return "".join(chance.choices("ab\",\n\r 'é😀;\t1\\", k=chance.randrange(7)))

    def decimal(precision, scale):
        return lambda: Decimal(chance.randrange(-(10**precision) + 1, 10**precision)).scaleb(-scale)

    def moment(unit):
        part, (least, most) = SECOND[unit], YEARS
        edges = [0, 1, -1, 1000, -1000, least * part, least * part - 1, most * part - 1, most * part]

        def make():
            second = chance.randrange(-(10**10), 10**11)
            fraction = chance.choice([0, 1, 10**3, 10**6, chance.randrange(part)]) % part
            return max(-(2**63), min(2**63 - 1, chance.choice([*edges, second * part, second * part + fraction])))

        return make

    yield from ((pa.float64(), float64), (pa.string(), text), (pa.large_string(), text))
    yield pa.float32(), lambda: struct.unpack("<f", chance.randbytes(4))[0]
    yield from ((kind, lambda: chance.randrange(128)) for kind in (pa.int8(), pa.uint64()))
    yield pa.int64(), lambda: chance.getrandbits(64) - 2**63
    yield pa.bool_(), lambda: chance.random() < 0.5
    yield from ((pa.decimal128(p, s), decimal(p, s)) for p, s in ((12, 2), (28, 6), (10, 0), (20, 10), (6, 6)))
    yield pa.date32(), lambda: chance.choice([0, -719162, -719163, 2932896, 2932897, chance.randrange(-(10**6), 10**7)])
    yield pa.time64("us"), lambda: chance.randrange(86400 * 10**6)
    yield pa.binary(), lambda: chance.randbytes(3)
    yield pa.struct([("a", pa.string())]), lambda: {"a": text()}
    yield from ((pa.timestamp(u, zone), moment(u)) for u in SECOND for zone in (None, "UTC", "Europe/Zurich"))


def check_random_batches(seeds):
    for seed in seeds:
        chance = random.Random(seed)
        columns, nulls = chance.choices([*kinds(chance)], k=chance.choice([1, 1, 2, 3, 6])), chance.choice([0, 0.1, 1])

        def column(kind, make, chance=chance, nulls=nulls):
            values = [None if chance.random() < nulls else make() for _ in range(100)]
            stored = {pa.date32(): pa.int32()}.get(kind, pa.int64() if pa.types.is_timestamp(kind) else kind)
            return pa.array(values, stored).view(kind) if stored != kind else pa.array(values, kind)

        arrays = {str(n): column(kind, make) for n, (kind, make) in enumerate(columns)}
        arrays["op"] = pa.array(chance.choices([*range(len(OPERATION_NAMES) + 1), -1, None], k=100), pa.int32())
        batch = pa.record_batch(arrays).slice(chance.choice([0, 0, 30]), chance.choice([100, 40]))
        batch = batch if chance.random() < 0.5 else batch.select(batch.schema.names[:-1])
        assert csv_rows.lines(batch, "op") == by_row(batch), (seed, batch.schema)


def test_bytes_are_those_of_rows_written_one_by_one():
    check_random_batches(range(60))


@pytest.mark.torture
def test_bytes_are_those_of_rows_written_one_by_one_in_many_batches():
    check_random_batches(range(1000, 5000))

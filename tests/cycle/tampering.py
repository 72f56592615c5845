"""Tampered files of a store, at random: what readers show, what runs commit, and what ``verify`` names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from random import Random
from typing import Any

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.chain.record_rows import state_rows, tail_rows
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.storages import open_storage
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import Ask, verify
from airflow_provider_odf.cycle.decisions import publish_anyway, undecided
from airflow_provider_odf.cycle.run import run as run_cycle
from airflow_provider_odf.errors import OdfError, UnexpectedError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.reading.event_hours import Part, records_by_hour
from airflow_provider_odf.reading.profile import profile
from airflow_provider_odf.reading.store import PublishedStore
from airflow_provider_odf.runner.local import LocalRunner
from tests.manifests import derived, polled

from .conftest import Write, cycle_of

CSV = "{kind: Csv, header: true, schema: [sku STRING, price BIGINT]}"
SNAPSHOT = "{kind: Snapshot, primaryKey: [sku]}"
CONTRACT = """
dataContractSpecification: 1.2.1
id: urn:prices
info: {title: Prices, version: 1.0.0}
models: {prices: {fields: {price: {type: long, minimum: 0}}}}
"""
MANIFESTS = {
    "prices": polled("prices", "{kind: FilesGlob, path: in/prices/*.csv}", CSV, SNAPSHOT),
    "costs": polled("costs", "{kind: FilesGlob, path: in/costs/*.csv}", CSV),
    "offers": polled("offers", "{kind: FilesGlob, path: in/offers/*.csv}", CSV, SNAPSHOT),
    "expensive": derived(
        "expensive",
        "{datasetRef: prices, alias: p}",
        "{kind: Sql, engine: spark, query: 'SELECT event_time, sku, price FROM p WHERE price > 10'}",
    ),
}
SLICES = 16
"""Number of slices of prices, from which on there is a state cache."""

NOT_NAMED = {
    ("cache", ""),
    ("registry", ""),
    ("info/alias", ""),
    ("info/evaluation.json", ""),
    *((kind, "remove") for kind in ("info/headers", "info/publications", "info/reports", "other refs")),
    *((kind, "older") for kind in ("dataset", "head", "other refs")),
    ("head", "another block"),
}
"""Kinds of files and ways of tampering that ``verify`` need not name: see the documentation of reliability."""

Files = Mapping[str, bytes | None]
"""Contents by the name in the store; None where there is no file."""


class StoreFiles:
    """All files of a store in a folder or a bucket, by their names, to be written to behind its back."""

    def __init__(self, location: str) -> None:
        self.storage = open_storage(location)

    def read(self) -> dict[str, bytes]:
        if isinstance(self.storage, LocalStorage):
            root = self.storage.root
            return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
        return {info.name: self.storage.get(info.name) or b"" for info in self.storage.every_file()}

    def write(self, files: Files) -> None:
        """Write over files, without a new one in place of the old one, and remove those that are None."""
        for name, content in files.items():
            if content is None:
                self.storage.remove(name, inf)
            elif isinstance(self.storage, LocalStorage):
                path = self.storage.root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            else:
                self.storage.put(name, content)

    def restore(self, files: Mapping[str, bytes]) -> None:
        """Give all files the content that they had."""
        now = self.read()
        self.write({name: files.get(name) for name in now.keys() | files.keys() if now.get(name) != files.get(name)})


@dataclass(frozen=True)
class Tampering:
    """Files of a kind that are changed in a way."""

    kind: str
    way: str
    files: Files

    def __str__(self) -> str:
        return f"{self.kind}: {self.way}: {', '.join(sorted(self.files)[:2])}"


@dataclass
class World:
    """A store of roots and perhaps a derivative: `prices` with a state cache, `costs` without a contract, `offers` with
    a rejected candidate, `states` with a checkpoint.

    :param machine: returns the folder of a machine that works with the store, by default that of the store.
    """

    location: str
    write: Write
    engine: LocalRunner
    machine: Callable[[int], Path | None]
    with_derivative: bool = False
    moments: list[dict[str, bytes]] = field(default_factory=list)
    """The files after each hour."""
    _histories: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.files = StoreFiles(self.location)
        self.manifests = {name: self.write(f"{name}.yaml", text) for name, text in MANIFESTS.items()}
        self.write("prices.datacontract.yaml", CONTRACT)
        self.write("offers.datacontract.yaml", CONTRACT.replace("prices", "offers"))
        for number, name in enumerate(("states", *self.names)):
            self._begin(name, f"did:odf:fed01{16 + number:02}{'16' * 31}")
        for number in range(SLICES):
            self.write(f"in/prices/{number:02}.csv", f"sku,price\na,{number}\nb,20\nc,{20 + number}\n")
        self._hour(1, "a,b\nx,1\n", "sku,price\np,1\n")
        self.write(f"in/prices/{SLICES}.csv", "sku,price\na,16\nb,21\nc,35\n")
        self._hour(2, "a,b\ny,2\n", "sku,price\np,-1\n")
        self.whole = self.moments[-1]
        self.readable = {name: self.show(self.store(0), name) for name in self.names}
        self.heads = {name: self._rows_by_block(name) for name in self.names}
        self.write("in/prices/99.csv", "sku,price\na,17\nb,21\nd,1\n")
        self.write("in/costs/3.csv", "a,b\nz,3\n")
        self.next_rows = {name: rows for name in self.names if (rows := self._rows_after(name)) is not None}
        self.restore()

    @property
    def names(self) -> list[str]:
        return ["prices", "costs", "offers", *(["expensive"] if self.with_derivative else [])]

    def kind(self, name: str) -> str | None:
        """Return the kind of a file; None for locks and work in progress."""
        dataset, _, rest = name.partition("/")
        folder, _, last = rest.partition("/")
        if dataset == ".datasets":
            return "registry"
        if dataset.startswith("."):
            return None if last.startswith(".") else "cache" if folder == ".cache" else None
        if folder in ("blocks", "data"):
            return folder if self._is_in_history(dataset, last) else f"{folder} of a candidate"
        if folder == "refs":
            return "head" if last == "head" else "other refs" if last[0] != "." or last == ".index" else None
        return folder if folder == "checkpoints" else rest.rpartition("/")[0] if "/" in last else rest

    def _is_in_history(self, dataset: str, name: str) -> bool:
        if not self._histories:
            for each in ("states", *self.names):
                walk = list(self.store(0).dataset(each).walk())
                slices = (getattr(block.event, "new_data", None) for _, block in walk)
                self._histories[each] = {h for h, _ in walk} | {s.physical_hash for s in slices if s is not None}
        return name in self._histories[dataset]

    def store(self, machine: int) -> Store:
        return Store.open(self.location, self.machine(machine))

    def restore(self) -> None:
        self.files.restore(self.whole)

    def _begin(self, name: str, dataset_id: str) -> None:
        """Begin a dataset with a fixed id; one has a checkpoint, as other tools write them."""
        dataset = self.store(0).create(DatasetAlias.parse(name))
        draft, time = Draft(dataset), Instant.parse("2024-01-01T00:00:00Z")
        kind = "Derivative" if name == "expensive" else "Root"
        draft.append(model.Seed(dataset_id=dataset_id, dataset_kind=kind), time)
        if name == "states":
            digest = multiformats.sha3_256(b"state")
            dataset.storage.put_if_absent(f"checkpoints/{digest}", b"state")
            draft.append(model.AddData(new_checkpoint=model.Checkpoint(physical_hash=digest, size=5)), time)
        dataset.storage.compare_and_set_ref("head", None, draft.state.head)
        self.store(0).registry.remember(dataset.alias, dataset_id)

    def _hour(self, hour: int, costs: str, offers: str) -> None:
        self.write(f"in/costs/{hour}.csv", costs)
        self.write(f"in/offers/{hour}.csv", offers)
        for name in self.names:
            self.run(self.store(0), name, hour)
        self.moments.append(self.files.read())

    def run(self, store: Store, name: str, hour: int) -> OdfError | None:
        """Run a cycle of a dataset, or publish its rejected candidate. Return the error."""
        try:
            if name == "offers" and hour > 2:
                dataset = store.dataset(name)
                publish_anyway(store, dataset, undecided(dataset, None))
                return None
            (manifest,) = load([self.manifests[name]]).manifests
            cycle = cycle_of(store, manifest, self.engine, Instant.parse(f"2024-01-01T{hour:02}:00:00Z"))
            return run_cycle(cycle).error
        except OdfError as e:
            return e

    def show(self, store: Store, name: str) -> dict[str, Any]:
        """Return what each reader shows of a dataset, or its error."""
        return {reader: _shown(read, store, name) for reader, read in READERS.items()}

    def _rows_by_block(self, name: str) -> dict[str, Any]:
        """Return the current rows at each block, whether it is published or not."""
        dataset = self.store(0).dataset(name)
        blocks = dataset.storage.names("blocks")
        return {
            block: _shown(lambda *_, b=block: state_rows(dataset, b).arrow().to_pylist(), self.store(0), name)
            for block in blocks
        }

    def _rows_after(self, name: str) -> Any:
        """Return the current rows after the next run."""
        if name == "expensive":
            self.run(self.store(0), "prices", 3)
        error = self.run(self.store(0), name, 3)
        assert error is None, error
        return READERS["current rows"](self.store(0), name)


def _values(rows: Any) -> Any:
    """Return rows without times: an input that is merged again has another one."""
    return sorted((row["sku"], row["price"]) for row in rows) if isinstance(rows, list) else rows


def _shown(read: Callable[[Store, str], Any], store: Store, name: str) -> Any:
    try:
        return read(store, name)
    except OdfError as e:
        return e


def _newest(store: Store, name: str) -> tuple[Dataset, Any]:
    dataset = store.for_readers(name)
    return dataset, replay(dataset)


def _profile(store: Store, name: str) -> Any:
    dataset, state = _newest(store, name)
    return profile(dataset, state.slices[-1], state) if state.slices else None


def _by_hour(store: Store, name: str) -> Any:
    dataset, state = _newest(store, name)
    return [*records_by_hour(dataset, map(Part, state.slices), state)]


READERS: Mapping[str, Callable[[Store, str], Any]] = {
    "current rows": lambda store, name: state_rows(store.for_readers(name)).arrow().to_pylist(),
    "newest records": lambda store, name: tail_rows(store.for_readers(name), 100).arrow().to_pylist(),
    "history": lambda store, name: PublishedStore(store)[name].history().to_arrow().read_all().to_pylist(),
    "sql": lambda store, name: (
        PublishedStore(store).sql(f'SELECT * FROM "{name}" ORDER BY sku').to_arrow().read_all().to_pylist()
    ),
    "profile": _profile,
    "records by hour": _by_hour,
}


@dataclass(frozen=True)
class Cases:
    """Tamperings of a world that follow from a seed."""

    world: World
    seed: int
    kinds: Collection[str] | None = None
    """Kinds of files; None for all."""

    def make(self, number: int) -> Tampering:
        chance = Random(f"{self.seed} {number}")
        groups = self._groups()
        kind = chance.choice([kind for kind in (*groups, "dataset") if self.kinds is None or kind in self.kinds])
        if kind == "dataset":
            return self._whole(chance)
        name, whole = chance.choice(groups[kind]), self.world.whole
        earlier = {moment[name] for moment in self.world.moments if name in moment} - {whole[name]}
        same = [other for other in groups[kind] if whole[other] != whole[name]]
        ways = ["flip", "truncate", "extend", "remove"] + ["swap"] * bool(same) + ["older"] * bool(earlier)
        ways += ["another block"] * (kind == "head")
        way, data = chance.choice(ways), bytearray(whole[name])
        if way == "swap":
            other = chance.choice(same)
            return Tampering(kind, way, {name: whole[other], other: whole[name]})
        if way == "flip" and data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        elif way == "truncate":
            del data[chance.randrange(len(data)) if data else 0 :]
        elif way == "extend":
            data += b"\0" + chance.randbytes(chance.randrange(8))
        elif way == "older":
            data = bytearray(chance.choice(sorted(earlier)))
        elif way == "another block":
            folder = f"{name.partition('/')[0]}/blocks/"
            blocks = [other.removeprefix(folder) for other in whole if other.startswith(folder)]
            data = bytearray(chance.choice(sorted({*blocks} - {whole[name].decode()})).encode())
        return Tampering(kind, way, {name: None if way == "remove" else bytes(data)})

    def _groups(self) -> dict[str, list[str]]:
        """Return the names of files by their kind."""
        groups = defaultdict(list)
        for name in sorted(self.world.whole):
            if (kind := self.world.kind(name)) is not None:
                groups[kind].append(name)
        return groups

    def _whole(self, chance: Random) -> Tampering:
        """Put an older copy in place of a dataset, or exchange two."""
        whole, names = self.world.whole, chance.sample(self.world.names, 2)
        first, second = (
            {n.removeprefix(f"{name}/"): data for n, data in whole.items() if n.startswith(f"{name}/")}
            for name in names
        )
        if chance.random() < 0.5:
            return Tampering("dataset", "swap", {**_moved(first, second, names[0]), **_moved(second, first, names[1])})
        start = f"{names[0]}/"
        older = {n.removeprefix(start): d for n, d in self.world.moments[0].items() if n.startswith(start)}
        return Tampering("dataset", "older", _moved(first, older, names[0]))

    def check(self, number: int, outcomes: Counter[str]) -> Iterator[str]:
        """Tamper with files, and yield what goes wrong."""
        world, case = self.world, self.make(number)
        world.files.write(case.files)
        touched = {part for name in case.files for part in name.split("/")[: 3 if name.startswith(".") else 1]}
        names = [name for name in world.names if name in touched]
        shown = [*self._show(number, case, names)]
        yield from (failure for _, failure in shown if failure)
        messages = [str(e) for name in ("states", *world.names) if (e := self._verify(number, name)) is not None]
        places = [name.rpartition("/")[2] for name in case.files] + [f"/{name}: " for name in touched]
        places += [f"/{name}/refs/" for name in touched if case.kind == "other refs"]  # in a bucket, one object has all
        is_named = any(place in message for place in places for message in messages)
        if not is_named and {(case.kind, case.way), (case.kind, "")}.isdisjoint(NOT_NAMED):
            yield f"{case}: verify does not name it: {messages}"
        runs = [*self._run(number, case, names)]
        yield from (failure for _, failure in runs if failure)
        words = ("/".join(sorted({word for word, _ in each})) for each in (shown, runs))
        outcomes[f"{case.kind:20} {case.way:14} {next(words):16} {next(words):16} {'named' * is_named}"] += 1
        world.restore()

    def _show(self, number: int, case: Tampering, names: list[str]) -> Iterator[tuple[str, str]]:
        """Yield what readers show: the same rows, an error or other rows; and what is wrong about it."""
        for name in names:
            for reader, rows in self.world.show(self.world.store(number), name).items():
                if isinstance(rows, OdfError):
                    yield "error", f"{case}: {reader} of {name}: {rows!r}" * isinstance(rows, UnexpectedError)
                elif rows == self.world.readable[name][reader]:
                    yield "same rows", ""
                else:
                    is_wrong = not self._is_at_head(case, name, rows, reader)
                    yield "earlier rows", f"{case}: {reader} of {name} shows {rows}" * is_wrong

    def _run(self, number: int, case: Tampering, names: list[str]) -> Iterator[tuple[str, str]]:
        """Yield how the next runs end, and what is wrong about it."""
        world, files = self.world, self.world.files
        for name in names:
            if name == "expensive" and "prices" not in names:
                world.run(world.store(number), "prices", 3)
            before = files.storage.get(f"{name}/refs/head")
            error = world.run(world.store(number), name, 3)
            is_moved = files.storage.get(f"{name}/refs/head") != before
            if error is not None:
                yield "error", f"{case}: run of {name}: {error!r}" * (is_moved or isinstance(error, UnexpectedError))
            elif is_moved and case.kind.endswith("of a candidate"):
                yield "published", f"{case}: the candidate of {name} was published"
            elif is_moved:
                now = files.read()
                left = [n for n, data in case.files.items() if now.get(n) == data and not n.endswith("refs/head")]
                files.write({n: world.whole.get(n) for n in left})
                rows = _shown(READERS["current rows"], world.store(number), name)
                found = self._verify(number, name)
                is_right = found is None and _values(rows) == _values(world.next_rows[name])
                yield "right rows", "" if is_right else f"{case}: the run of {name} made {rows}, verify: {found}"
            else:
                yield "nothing", ""

    def _is_at_head(self, case: Tampering, name: str, rows: Any, reader: str) -> bool:
        """Whether rows are those of the block that a head was moved to: a history that was valid at some time."""
        head = self.world.files.storage.get(f"{name}/refs/head")
        expected = self.world.heads[name].get((head or b"").decode().strip())
        return case.way in ("older", "another block") and (reader != "current rows" or rows == expected)

    def compare(self, number: int, ask: Ask) -> tuple[list[str], list[str]]:
        """Tamper with files, and return what ``verify`` says of each dataset, here and in tasks of Spark."""
        self.world.files.write(self.make(number).files)
        names = ("states", *self.world.names)
        told = tuple([str(self._verify(number, name, way)) for name in names] for way in (None, ask))
        self.world.restore()
        return told

    def _verify(self, number: int, name: str, ask: Ask | None = None) -> OdfError | None:
        try:
            verify(self.world.store(number).for_readers(name), ask=ask)
        except OdfError as e:
            return e
        return None


def _moved(old: Mapping[str, bytes], new: Mapping[str, bytes], name: str) -> Files:
    """Return the changes that put the files of a dataset in place of those of another."""
    return {f"{name}/{n}": new.get(n) for n in old.keys() | new.keys() if old.get(n) != new.get(n)}

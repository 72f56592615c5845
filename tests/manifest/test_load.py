# ruff: noqa: E501  (tables of cases, one a line)
from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load, load_block
from airflow_provider_odf.manifest.yaml_source import dump_yaml, parse

ROOT = """\
kind: DatasetSnapshot
version: 1
content:
  name: {name}
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {{kind: Url, url: 'https://x.org/'}}
      read: {{kind: Csv, schema: [id BIGINT]}}
      preprocess: {{kind: Sql, engine: spark, query: select 1}}
      merge: Append
"""
DERIVATIVE = """\
kind: DatasetSnapshot
version: 1
content:
  name: {name}
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        - datasetRef: {input}
      transform: {{kind: Sql, engine: spark, query: select 1}}
"""
BLOCK = """\
kind: MetadataBlock
version: 3
content:
  systemTime: 2024-05-02T08:00:00Z
  sequenceNumber: 0
  event: {kind: Seed, datasetId: 'did:odf:fed01%s', datasetKind: Root}
""" % ("0f" * 32)


def root(name: str) -> str:
    return ROOT.format(name=name)


def derivative(name: str, read: str) -> str:
    return DERIVATIVE.format(name=name, input=read)


def test_a_manifest_and_its_places(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(root("acme/a"))
    (manifest,) = load([file]).manifests
    assert manifest.snapshot == model.DatasetSnapshot(
        name="acme/a",
        kind="Root",
        metadata=(
            model.SetPollingSource(
                fetch=model.FetchStepUrl(url="https://x.org/"),
                read=model.ReadStepCsv(ddl_schema=("id BIGINT",)),
                preprocess=model.TransformSql(engine="spark", queries=(model.SqlQueryStep(query="select 1"),)),
                merge=model.MergeStrategyAppend(),
            ),
        ),
    )
    assert manifest.file == file
    places = {
        ("name",): (4, 9),
        ("metadata", 0): (7, 7),
        ("metadata", 0, "fetch", "url"): (8, 31),
        ("metadata", 0, "read", "ddl_schema", 0): (9, 34),
        ("metadata", 0, "preprocess", "queries", 0, "query"): (10, 53),
        ("metadata", 0, "preprocess", "queries", 0): (10, 53),
        ("metadata", 0, "merge"): (11, 14),
        ("content", "metadata", 0, "merge"): (11, 14),
    }
    assert {path: (manifest.place(*path).line, manifest.place(*path).column) for path in places} == places


def test_a_manifest_can_be_copied_and_pickled(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(root("a"))
    (manifest,) = load([tmp_path]).manifests
    for other in (copy.deepcopy(manifest), pickle.loads(pickle.dumps(manifest))):
        assert other == manifest
        assert other.place("name") == manifest.place("name")


def test_all_problems_of_all_documents_and_files_at_once(outcome: Callable[..., Any]) -> None:
    got = outcome(
        a=root("a") + "---\n" + root("x_y") + "---\n" + root("b"),
        c=root("c").replace("version: 1", "version: 7").replace("Append", "Apend"),
        d=root("d") + "---\nkind: [",
    )
    assert got.names == ["a", "b", "d"]
    assert got.problems == [
        "a.yaml:16:9: 'x_y' is not a dataset name: letters, digits and single '-' or '.' between them; use 'x-y'",
        "c.yaml:2:10: version 7 is not supported (write `version: 1`)",
        "c.yaml:11:14: 'Apend' is not a merge strategy (did you mean `Append`?)",
        "d.yaml:14:1: not YAML: did not find expected node content",
    ]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("kind: DatsetSnapshot\nversion: 1\ncontent: {}", ["m.yaml:1:7: unknown kind of manifest 'DatsetSnapshot' (did you mean `DatasetSnapshot`?)"]),
        ("kind: datasetSnapshot\nversion: 1\ncontent: {}", ["m.yaml:1:7: unknown kind of manifest 'datasetSnapshot' (did you mean `DatasetSnapshot`?)"]),
        ('{"kind": "DatasetSnapshots", "version": 1, "content": {}}', ["m.yaml:1:10: unknown kind of manifest 'DatasetSnapshots' (did you mean `DatasetSnapshot`?)"]),
        ("kind: DatasetSnapshot\nversion: 1", ["m.yaml:1:1: a DatasetSnapshot needs `content`"]),
        ("kind: DatasetSnapshot\ncontent: {name: a, kind: Root, metadata: []}", ["m.yaml:1:1: a manifest needs `version` (write `version: 1`)"]),
        ("kind: DatasetSnapshot\nversion: '1'\ncontent: {name: a, kind: Root, metadata: []}", ["m.yaml:2:10: version '1' is not supported (write `version: 1`)"]),
        ("kind: DatasetSnapshot\nversion: 1\nmetadata: []\ncontent: {name: a, kind: Root, metadata: []}", ["m.yaml:3:1: unknown key `metadata` beside `content` (move or remove it)"]),
        ("kind: DatasetSnapshot\nkind: DatasetSnapshot\nversion: 1\ncontent: {}", ["m.yaml:2:1: `kind` is repeated (the first is in line 1)"]),
    ],
)  # fmt: skip
def test_around_the_content(outcome: Callable[..., Any], text: str, problems: list[str]) -> None:
    assert outcome(text).problems == problems


@pytest.mark.parametrize(
    "text",
    [
        "services: {web: {image: x}}",
        "kind: Deployment\nspec: {}\n---\nkind: Service\ncontent: !Custom x\n",
        "kind: {{ .Values.kind }}\ncontent: [",
        "- a\n- b\n",
        "",
    ],
)
def test_other_yaml_in_a_folder_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.yaml").write_text(text)
    (tmp_path / "m.yml").write_text(root("a"))
    loaded = load([tmp_path])
    assert [m.snapshot.name for m in loaded.manifests] == ["a"]
    assert (loaded.problems, loaded.warnings) == ((), ())


def test_a_file_without_a_dataset_that_is_named_is_warned_of(outcome: Callable[..., Any]) -> None:
    got = outcome("services: {}")
    assert (got.problems, got.warnings) == ([], ["m.yaml: ignored: the file has no DatasetSnapshot"])


def test_blocks_declare_no_dataset(outcome: Callable[..., Any]) -> None:
    assert outcome(BLOCK).warnings == [
        "m.yaml: ignored: the file has no DatasetSnapshot",
        "m.yaml:1:1: ignored: a MetadataBlock declares no dataset",
    ]


def test_malformed_yaml_that_was_meant_as_a_manifest_is_a_problem_in_a_folder_too(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("kind: DatasetSnapshot\nversion: 1\ncontent: {name: a\n")
    (problem,) = load([tmp_path]).problems
    assert str(problem) == (
        f"{tmp_path}/m.yaml:4:1: not YAML: did not find expected ',' or '}}' (a `[` or `{{` is not closed)"
    )


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"kind: DatasetSnapshot\n# caf\xe9\n")
    problems = load([tmp_path, tmp_path / "none.yaml", tmp_path / "nowhere"]).problems
    assert [str(p).replace(f"{tmp_path}/", "") for p in problems] == [
        "latin.yaml:2:6: not UTF-8: invalid continuation byte (save it as UTF-8)",
        "none.yaml: cannot be read: No such file or directory",
        "nowhere: cannot be read: No such file or directory",
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32-be"])
def test_other_encodings_are_refused_not_left_out(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "m.yaml").write_bytes(root("a").encode(encoding))
    loaded = load([tmp_path])
    assert loaded.manifests == ()
    (problem,) = map(str, loaded.problems)
    assert re.fullmatch(rf"{tmp_path}/m.yaml:1:[12]: not UTF-8: .* \(save it as UTF-8\)", problem)


def test_merge_keys_at_the_root(tmp_path: Path) -> None:
    envelope, content = root("a").split("content:", 1)
    merged = "".join(f"  {line}\n" for line in envelope.splitlines())
    (tmp_path / "m.yaml").write_text(f"<<:\n{merged}content:{content}")
    loaded = load([tmp_path])
    assert ([m.snapshot.name for m in loaded.manifests], loaded.problems) == (["a"], ())
    (tmp_path / "m.yaml").write_text(f"<<:\n{merged.replace('Snapshot', 'Snapshoot')}content:{content}")
    (problem,) = load([tmp_path]).problems
    assert problem.place.line == 2
    assert problem.fix == "did you mean `DatasetSnapshot`?"


def test_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_bytes(b"\xef\xbb\xbf" + root("a").replace("\n", "\r\n").encode())
    loaded = load([tmp_path])
    assert [m.snapshot.name for m in loaded.manifests] == ["a"]


def test_a_file_given_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(root("a"))
    loaded = load([tmp_path / "m.yaml", tmp_path, tmp_path / "." / "m.yaml"])
    assert (len(loaded.manifests), loaded.problems) == (1, ())


def test_two_datasets_of_one_name(outcome: Callable[..., Any]) -> None:
    got = outcome(a=root("acme/Orders"), b=root("ACME/orders"), c=root("orders"), d=root("acme/orders"))
    assert got.names == ["orders"]
    assert got.problems == [
        "a.yaml:4:9: dataset acme/Orders is also declared in b.yaml:4:9 and d.yaml:4:9 (rename one)",
        "b.yaml:4:9: dataset ACME/orders is also declared in a.yaml:4:9 and d.yaml:4:9 (rename one)",
        "d.yaml:4:9: dataset acme/orders is also declared in a.yaml:4:9 and b.yaml:4:9 (rename one)",
    ]


def test_two_datasets_that_give_one_dag(outcome: Callable[..., Any]) -> None:
    got = outcome(a=root("acme/orders"), b=root("acme.orders"))
    assert got.names == []
    assert got.problems == [
        "a.yaml:4:9: dataset acme/orders would have the same dag_id acme.orders as acme.orders in b.yaml:4:9 (rename one)",
        "b.yaml:4:9: dataset acme.orders would have the same dag_id acme.orders as acme/orders in a.yaml:4:9 (rename one)",
    ]


def test_inputs_that_nobody_knows_are_warned_of(outcome: Callable[..., Any]) -> None:
    got = outcome(
        a=root("orders"),
        b=derivative("b", "ORDERS"),
        c=derivative("c", "ordres"),
        d=derivative("d", "stored"),
        known=lambda ref: ref == "stored",
    )
    assert got.names == ["orders", "b", "c", "d"]
    assert got.problems == []
    assert got.warnings == ["c.yaml:9:23: input ordres is not in these manifests (did you mean `orders`?)"]


def test_an_input_whose_manifest_is_invalid_is_not_called_unknown(outcome: Callable[..., Any]) -> None:
    got = outcome(a=root("orders").replace("Append", "Apend"), b=derivative("b", "orders"))
    assert got.warnings == []


def test_cycles(outcome: Callable[..., Any]) -> None:
    got = outcome(
        a=derivative("a", "b"),
        b=derivative("b", "c"),
        c=derivative("c", "A"),
        d=derivative("d", "d"),
        e=derivative("e", "r"),
        r=root("r"),
    )
    assert got.names == ["e", "r"]
    chain = {p.partition(": ")[0]: p.partition(": ")[2] for p in got.problems}
    assert sorted(chain) == ["a.yaml:9:23", "b.yaml:9:23", "c.yaml:9:23", "d.yaml:9:23"]
    assert chain["d.yaml:9:23"] == "dataset d reads itself (remove one of these inputs)"
    assert "reads itself through others" in chain["a.yaml:9:23"]


def test_invalid_folder_settings_are_among_the_problems(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(root("a"))
    (tmp_path / "odf.yaml").write_text("defaults: {schedule: '@hurly'}\n")
    loaded = load([tmp_path])
    assert [str(p).replace(f"{tmp_path}/", "") for p in loaded.problems] == [
        "odf.yaml:1:22: schedule '@hurly' is neither a preset nor a cron expression (did you mean @hourly?)"
    ]
    assert [m.snapshot.name for m in loaded.manifests] == ["a"]


def test_contracts_of_a_dataset_that_the_folder_has_not(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "m.yaml").write_text(root("orders"))
    (tmp_path / "sub" / "n.yaml").write_text(root("acme/items"))
    for name in ("orders", "ordes", "items", "sub/items", "sub/Items", "sub/zzz"):
        (tmp_path / f"{name}.datacontract.yaml").touch()

    def warnings(*paths: Path) -> list[str]:
        return [str(w).replace(f"{tmp_path}/", "") for w in load(paths).warnings]

    below = [
        "sub/Items.datacontract.yaml: no dataset Items in this folder: the contract is not used "
        "(did you mean `items.datacontract.yaml`?)",
        "sub/zzz.datacontract.yaml: no dataset zzz in this folder: the contract is not used",
    ]
    assert warnings(tmp_path, tmp_path / "sub") == [
        "items.datacontract.yaml: no dataset items in this folder: the contract is not used",
        "ordes.datacontract.yaml: no dataset ordes in this folder: the contract is not used "
        "(did you mean `orders.datacontract.yaml`?)",
        *below,
    ]
    assert warnings(tmp_path / "sub") == below
    assert warnings(tmp_path / "m.yaml") == []


def test_contracts_by_a_name_that_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(root("orders"))
    for name in ("orders.contract.yaml", "orders-data-contract.yml", "orders.odcs.yaml", "other.contract.yaml"):
        (tmp_path / name).write_text("kind: DataContract\n")
    (tmp_path / "orders_contract.yaml").write_text(root("orders-2"))
    assert [str(w).replace(f"{tmp_path}/", "") for w in load([tmp_path]).warnings] == [
        f"{name}: a contract of this name is not used (rename it to `orders.datacontract.yaml`)"
        for name in ("orders-data-contract.yml", "orders.contract.yaml", "orders.odcs.yaml")
    ]


def test_a_schedule_of_a_derivative_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "m.yaml").write_text(root("orders"))
    (tmp_path / "sub" / "n.yaml").write_text(derivative("acme/Sums", "orders"))
    own = "schedule: '@daily', poke_interval: 5, retries: 1"
    (tmp_path / "odf.yaml").write_text(f"defaults: {{{own}}}\ndatasets:\n  ACME/sums: {{{own}}}\n  orders: {{{own}}}\n")
    (tmp_path / "sub" / "odf.yaml").write_text("datasets: {acme/Sums: {schedule: null}}\n")
    warnings = [str(w).replace(f"{tmp_path}/", "") for w in load([tmp_path]).warnings]
    assert warnings == [
        "odf.yaml:3:15: `schedule` is not used: the inputs of the derivative ACME/sums schedule it (remove it)",
        "sub/odf.yaml:1:24: `schedule` is not used: the inputs of the derivative acme/Sums schedule it (remove it)",
    ]


def test_settings_of_a_dataset_that_the_folder_has_not(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "m.yaml").write_text(root("orders"))
    (tmp_path / "sub" / "n.yaml").write_text(root("acme/items"))
    (tmp_path / "odf.yaml").write_text("datasets:\n  ordes: {retries: 1}\n  ACME/Items: {retries: 2}\n  zzz: {}\n")
    (tmp_path / "sub" / "odf.yaml").write_text("datasets: {orders: {retries: 1}}\n")

    def warnings(*paths: Path) -> list[str]:
        return [str(w).replace(f"{tmp_path}/", "") for w in load(paths).warnings]

    assert warnings(tmp_path) == [
        "odf.yaml:2:3: no dataset ordes in this folder (did you mean `orders`?)",
        "odf.yaml:4:3: no dataset zzz in this folder",
        "sub/odf.yaml:1:12: no dataset orders in this folder",
    ]
    assert warnings(tmp_path / "sub") == ["sub/odf.yaml:1:12: no dataset orders in this folder"]
    assert warnings(tmp_path / "m.yaml") == []
    (tmp_path / "broken.yaml").write_text("kind: DatasetSnapshot\ncontent: {name: [zzz\n")
    assert warnings(tmp_path) == ["sub/odf.yaml:1:12: no dataset orders in this folder"]


def test_contracts_are_no_manifests(tmp_path: Path) -> None:
    contract = tmp_path / "a.datacontract.yaml"
    contract.write_text("dataContractSpecification: 1.2.1\n")
    (tmp_path / "a.yaml").write_text(root("a"))
    assert load([tmp_path]).warnings == ()
    assert load([contract]).warnings == ()


def test_a_block_manifest() -> None:
    block, version = load_block(BLOCK, "b.yaml")
    assert version == 3
    assert model.dump(block) == {
        "systemTime": "2024-05-02T08:00:00Z",
        "sequenceNumber": 0,
        "event": {"kind": "Seed", "datasetId": "did:odf:fed01" + "0f" * 32, "datasetKind": "Root"},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (root("a"), "b.yaml: the file must have exactly one manifest, with `kind: MetadataBlock`"),
        (BLOCK.replace("version: 3", "version: 1"), "b.yaml:2:10: version 1 is not supported (write `version: 2` or `version: 3`)"),
        (BLOCK.replace("sequenceNumber: 0", "sequenceNumber: -1"), "b.yaml:5:19: `sequenceNumber` must be greater than or equal to 0, not the number -1"),
        (BLOCK.replace("2024-05-02T", "2024-05-02 at "), "b.yaml:4:15: '2024-05-02 at 08:00:00Z' is not an RFC 3339 time such as 2024-05-02T08:00:00Z"),
    ],
)  # fmt: skip
def test_an_invalid_block_manifest(text: str, message: str) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        load_block(text, "b.yaml")
    assert str(caught.value) == message


STEPS = st.recursive(
    st.sampled_from([None, True, 0, -1, 2.5, "", "Csv", "append", "x y", "2024", "${{", "Root", "acme/x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["kind", "name", "Url"]), inner),
    max_leaves=3,
)


@pytest.mark.no_cover
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False), STEPS, st.booleans())
def test_whatever_a_manifest_holds_loading_never_raises(tmp_path: Path, random: Random, put: Any, is_key: bool) -> None:
    value = parse(root("a").replace("merge: Append", "merge: {kind: Ledger, primaryKey: [id]}"), "m")[0].value
    places = list(_containers(value["content"]))
    container = random.choice(places)
    key = random.choice(list(container) if isinstance(container, dict) else range(len(container)))
    if is_key and isinstance(container, dict):
        container[str(put)] = container.pop(key)
    else:
        container[key] = put
    (tmp_path / "m.yaml").write_text(dump_yaml(value))
    loaded = load([tmp_path / "m.yaml"])
    assert len(loaded.manifests) == (0 if loaded.problems else 1)
    assert all(p.place.line > 0 and p.message for p in (*loaded.problems, *loaded.warnings))


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


def test_a_text_of_many_empty_lines_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("\n" * 200_000 + "a: 1")
    begin = time.process_time()
    assert load([tmp_path]).problems == ()
    assert time.process_time() - begin < 2


@pytest.mark.no_cover
def test_a_thousand_manifests_load_in_seconds(tmp_path: Path) -> None:
    for index in range(1000):
        (tmp_path / f"{index}.yaml").write_text(root(f"d{index}") if index % 2 else derivative(f"d{index}", "d1"))
    begin = time.process_time()
    loaded = load([tmp_path])
    assert (len(loaded.manifests), loaded.problems) == (1000, ())
    assert time.process_time() - begin < 5


def test_loading_imports_neither_airflow_nor_spark_nor_arrow() -> None:
    code = (
        "import sys, airflow_provider_odf.manifest.load;"
        "assert not {'airflow', 'pyspark', 'pyarrow', 'sqlglot', 'httpx', 'pathspec'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_manifest_without_its_kind_is_missed(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("version: 1\ncontent:\n  name: a\n  kind: Root\n  metadata: []\n")
    assert [str(p) for p in load([tmp_path]).problems] == [
        f"{path}:1:1: a manifest needs `kind` (write `kind: DatasetSnapshot`)"
    ]


def test_a_file_that_is_no_yaml_by_its_name_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("kind: DatasetSnapshot\n")
    assert [str(w) for w in load([path]).warnings] == [f"{path}: ignored: not a manifest file name"]

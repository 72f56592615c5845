# ruff: noqa: E501  (tables of cases, one a line)
from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.files import discover, is_manifest_name
from airflow_provider_odf.manifest.folder_settings import FolderSettings, settings_for


def tree(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()


def found(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in discover(folder)]


@pytest.mark.parametrize(
    ("name", "is_manifest"),
    [
        ("a.yaml", True),
        ("a.yml", True),
        ("a.json", False),
        ("odf.yaml", False),
        ("a.datacontract.yaml", False),
        ("datacontract.yaml", False),
        ("a-datacontract.yml", False),
        ("mydatacontract.yaml", True),
    ],
)
def test_names_of_manifests(name: str, is_manifest: bool) -> None:
    assert is_manifest_name(name) is is_manifest


def test_a_folder_is_walked_in_order(tmp_path: Path) -> None:
    tree(
        tmp_path, "b.yaml", "a/z.yml", "a/x.datacontract.yaml", "odf.yaml", ".git/c.yaml", "__pycache__/c.yaml", "c.py"
    )
    assert found(tmp_path) == ["a/z.yml", "b.yaml"]


@pytest.mark.parametrize(
    ("ignore", "kept"),
    [
        ("", ["a/old/x.yaml", "a/x.yaml", "old/x.yaml", "x.yaml"]),
        ("old\n", ["a/x.yaml", "x.yaml"]),
        ("/old/\n# a comment\n", ["a/old/x.yaml", "a/x.yaml", "x.yaml"]),
        ("x.yaml # everywhere\n", []),
        ("!\n/\n[\n\\\na\\\nold\n", ["a/x.yaml", "x.yaml"]),
        ("*.yaml\n!x.yaml\n", ["a/old/x.yaml", "a/x.yaml", "old/x.yaml", "x.yaml"]),
        ("a/*.yaml\n", ["a/old/x.yaml", "old/x.yaml", "x.yaml"]),
        ("**/old/x.yaml\n", ["a/x.yaml", "x.yaml"]),
    ],
)
def test_airflowignore(tmp_path: Path, ignore: str, kept: list[str]) -> None:
    tree(tmp_path, *["a/old/x.yaml", "a/x.yaml", "old/x.yaml", "x.yaml"])
    (tmp_path / ".airflowignore").write_text(ignore)
    assert found(tmp_path) == kept


def test_airflowignore_of_a_deeper_folder(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.yaml", "a/y.yaml", "x.yaml")
    (tmp_path / "a" / ".airflowignore").write_text("x.yaml")
    assert found(tmp_path) == ["a/y.yaml", "x.yaml"]
    (tmp_path / ".airflowignore").write_text("x.yaml")
    (tmp_path / "a" / ".airflowignore").write_text("!x.yaml")
    assert found(tmp_path) == ["a/x.yaml", "a/y.yaml"]


def test_links_are_followed_once(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.yaml")
    os.symlink(tmp_path, tmp_path / "a" / "loop")
    os.symlink(tmp_path / "nowhere.yaml", tmp_path / "broken.yaml")
    assert found(tmp_path) == ["a/x.yaml"]


def test_settings_come_from_the_nearest_folder_that_has_them(tmp_path: Path) -> None:
    tree(tmp_path, "a/b/m.yaml")
    (tmp_path / "odf.yaml").write_text(
        "defaults: {schedule: '@daily', pool: small, tags: [t], start_date: '2024-05-02T08:00:00Z'}\n"
        "datasets: {acme/X: {retries: 5, store: /far}}\n"
    )
    (tmp_path / "a" / "odf.yaml").write_text(
        "defaults: {pool: large, store: /near, spark: always}\ndatasets: {ACME/x: {schedule: null}}\n"
    )
    file = tmp_path / "a" / "b" / "m.yaml"
    assert settings_for(file, "acme/x") == FolderSettings(
        schedule=None,
        spark="always",
        pool="large",
        store="/near",
        tags=("t",),
        retries=5,
        start_date=Instant.parse("2024-05-02T08:00:00Z"),
    )
    assert settings_for(file, "other").schedule == "@daily"
    assert settings_for(tmp_path / "m.yaml", "acme/x").store == "/far"


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "m.yaml", "a")
    assert settings == FolderSettings(schedule="@hourly")
    assert settings.model_fields_set == set()
    (tmp_path / "odf.yaml").write_text("# nothing yet\n")
    assert settings_for(tmp_path / "m.yaml", "a") == FolderSettings()


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "odf.yaml").write_text("defaults: {retries: 1}")
    assert settings_for(tmp_path / "m.yaml", "a").retries == 1
    (tmp_path / "odf.yaml").write_text("defaults: {retries: 10}")
    assert settings_for(tmp_path / "m.yaml", "a").retries == 10


@pytest.mark.parametrize("schedule", ["@daily", "*/15 * * * *", "0 6 * * MON-FRI", "0 0 6 * * 1"])
def test_schedules(tmp_path: Path, schedule: str) -> None:
    (tmp_path / "odf.yaml").write_text(f"defaults: {{schedule: '{schedule}'}}")
    assert settings_for(tmp_path / "m.yaml", "a").schedule == schedule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("defaults: {retires: 1}", "odf.yaml:1:12: unknown key `retires` in `defaults` (did you mean `retries`?)"),
        ("datasets: {a: {retries: -1}}", "odf.yaml:1:25: `retries` must be greater than or equal to 0, not the number -1"),
        ("defaults: {spark: never}", "odf.yaml:1:19: `spark` must be 'needed' or 'always', not the string 'never'"),
        ("datasets: {a: {tags: x}}", "odf.yaml:1:22: `tags` must be a list, not the string 'x' (write [x])"),
        ("default: {}", "odf.yaml:1:1: unknown key `default` in the file (did you mean `defaults`?)"),
        ("defaults: {start_date: 2024-05-02}", "odf.yaml:1:24: '2024-05-02' is not an RFC 3339 time such as 2024-05-02T08:00:00Z"),
        ("max_retracted_share: 0.5", "odf.yaml:1:1: unknown key `max_retracted_share` in the file (it belongs under `defaults` or a name in `datasets`)"),
        ("defaults: {schedule: '61 * * foo 8'}", "odf.yaml:1:22: schedule '61 * * foo 8' is not a cron expression: the minute '61' is not in 0 to 59, the month 'foo' is not in 1 to 12 or jan to dec, the weekday '8' is not in 0 to 7 or sun to sat (write minute, hour, day, month and weekday)"),
        ("a: [", "odf.yaml:2:1: not YAML: did not find expected node content"),
        ("{}\n---\n{}", "odf.yaml:3:1: odf.yaml must be a single YAML document (remove this one)"),
        (
            "defaults: {schedule: sometimes}",
            "odf.yaml:1:22: schedule 'sometimes' is neither a preset nor a cron expression (write a cron expression such as \"*/15 * * * *\", or one of @change, @once, "
            "@continuous, @hourly, @daily, @weekly, @monthly, @quarterly, @yearly)",
        ),
    ],
)  # fmt: skip
def test_invalid_settings(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "odf.yaml").write_text(text)
    with pytest.raises(ManifestInvalid) as caught:
        settings_for(tmp_path / "m.yaml", "a")
    assert str(caught.value).replace(f"{tmp_path}/", "") == message


def test_start_on_change(tmp_path: Path) -> None:
    (tmp_path / "odf.yaml").write_text("defaults: {schedule: '@change', poke_interval: 5}")
    found = settings_for(tmp_path / "a.yaml", "acme.orders")
    assert (found.schedule, found.poke_interval) == ("@change", 5)


def test_entries_of_env_are_settings_each(tmp_path: Path) -> None:
    (tmp_path / "odf.yaml").write_text("defaults: {env: {A: {variable: upper}, B: {variable: upper}}}")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "odf.yaml").write_text(
        "defaults: {env: {B: {connection: deep, field: extra.b}, C: {connection: deep}}}\n"
        "datasets: {acme.orders: {env: {C: {variable: own}}}}"
    )
    found = settings_for(tmp_path / "deep" / "a.yaml", "acme.orders").env
    assert {name: str(value) for name, value in found.items()} == {
        "A": "variable upper",
        "B": "extra.b of deep",
        "C": "variable own",
    }


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (
            "schedule: '@chnge'",
            "2:13: schedule '@chnge' is neither a preset nor a cron expression (did you mean @change?)",
        ),
        ("poke_interval: 0", "2:18: `poke_interval` must be greater than or equal to 1, not the number 0"),
        (
            "env: {K: {variable: a, connection: b}}",
            "2:9: exactly one of variable and connection is needed (write {variable: NAME}, or {connection: ID, field: password})",
        ),
        (
            "env: {K: {connection: b, field: pasword}}",
            "2:35: a connection has no field 'pasword' (did you mean password?)",
        ),
        (
            "env: {K: {connection: b, field: token}}",
            "2:35: a connection has no field 'token' (the fields are password, login, host, port, schema and extra.KEY)",
        ),
        (
            "env: {K: {variable: b, field: login}}",
            "2:33: a variable cannot have a field (use `field` only with `connection`)",
        ),
        ("env: {K: b}", "2:12: `K` must be a mapping, not the string 'b'"),
        ("env: {a-b: {variable: b}}", "2:9: env.a-b is not the name of a variable (use only letters, digits and _)"),
    ],
)
def test_settings_of_a_source_that_are_not_valid(tmp_path: Path, written: str, problem: str) -> None:
    (tmp_path / "odf.yaml").write_text(f"defaults:\n  {written}\n")
    with pytest.raises(ManifestInvalid) as caught:
        settings_for(tmp_path / "a.yaml", "acme.orders")
    assert str(caught.value) == f"{tmp_path / 'odf.yaml'}:{problem}"

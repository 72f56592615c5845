"""What ``[odf] push_paths`` lets the conf of a run name."""

import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_odf import PushSourceOperator
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.operators import push_paths

DROP = ("https://files.example.org/drop",)


@pytest.fixture
def folder(tmp_path):
    """``in`` is allowed; ``in/link`` and ``in/links/secret`` lead out of it."""
    (tmp_path / "in" / "links").mkdir(parents=True)
    (tmp_path / "inner").mkdir()
    (tmp_path / "in" / "a b.csv").write_text("1\n")
    for name in ("secret.csv", "inner/a.csv"):
        (tmp_path / name).write_text("2\n")
    (tmp_path / "in" / "link.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "in" / "links" / "secret.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "way-in").symlink_to(tmp_path / "in")
    return tmp_path


def is_allowed(uri, *prefixes):
    try:
        push_paths.check([uri], prefixes)
    except InvalidInput:
        return False
    return True


def test_paths(folder):
    root = str(folder / "in")
    assert is_allowed(f"{root}/a b.csv", root)
    assert is_allowed(f"{root}/a b.csv", f"{root}/")
    assert is_allowed(f"file://{root}/a%20b.csv", root)
    assert is_allowed(f"{folder}/way-in/a b.csv", root)
    assert is_allowed(f"{root}/a b.csv", f"{folder}/way-in")
    assert is_allowed(f"{root}/a b.csv", f"{root}/a b.csv")


@pytest.mark.parametrize(
    "path", ["secret.csv", "inner/a.csv", "in/../secret.csv", "in/link.csv", "in/links", "in", "no-such.csv"]
)
def test_paths_out_of_the_folder(folder, path):
    assert not is_allowed(f"{folder}/{path}", f"{folder}/in")
    assert not is_allowed(f"file://{folder}/{path}", f"{folder}/in")
    assert not is_allowed(f"file://{folder}/{path.replace('..', '%2e%2e')}", f"{folder}/in")


@pytest.mark.parametrize(
    "uri",
    [
        "https://files.example.org/drop/a.csv",
        "https://FILES.example.org:443/drop/v1.2/a..b.csv?x=../..",
        "https://me:pass@files.example.org/drop/%C3%A4.csv",
        "https://files.example.org/drop",
    ],
)
def test_uris(uri):
    assert is_allowed(uri, *DROP)


@pytest.mark.parametrize(
    "uri",
    [
        "http://files.example.org/drop/a.csv",
        "https://files.example.org:8443/drop/a.csv",
        "https://files.example.org:port/drop/a.csv",
        "https://files.example.org.evil.org/drop/a.csv",
        "https://files.example.org@evil.org/drop/a.csv",
        r"https://evil.org\@files.example.org/drop/a.csv",
        "https://files.example.org/drop-box/a.csv",
        "https://files.example.org/drop/../a.csv",
        "https://files.example.org/drop/%2e%2E/a.csv",
        "https://files.example.org/drop/..%2fa.csv",
        "https://files.example.org/drop/a\n.csv",
        "/drop/a.csv",
        "file:///drop/a.csv",
    ],
)
def test_uris_elsewhere(uri):
    assert not is_allowed(uri, *DROP)


def test_a_refusal_names_what_is_allowed_and_no_secret():
    with pytest.raises(InvalidInput) as refused:
        push_paths.check(["https://me:pass@evil.org/a.csv?sig=1"], ("/data/in", *DROP))
    assert str(refused.value) == (
        "https://evil.org/a.csv?***: [odf] push_paths does not allow it; "
        "allowed: /data/in, https://files.example.org/drop"
    )
    with pytest.raises(InvalidInput, match=r"allowed: records$"):
        push_paths.check(["/data/in/a.csv"], push_paths.parse("none"))


def test_settings():
    assert push_paths.parse("") is None
    assert push_paths.parse("None") == ()
    assert push_paths.parse("/a, https://b.org/c,") == ("/a", "https://b.org/c")
    for wrong in ("data/in", "s3://bucket", "https://", "https://b.org/c?d"):
        with pytest.raises(ValueError, match="is neither an absolute path nor a URI"):
            push_paths.parse(wrong)


MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: scans
  kind: Root
  metadata:
    - kind: AddPushSource
      sourceName: default
      read: {kind: Csv}
      merge: {kind: Append}
"""


def test_it_holds_for_the_conf_of_a_run_and_not_for_the_author_of_a_dag(folder, monkeypatch):
    from types import SimpleNamespace

    (folder / "scans.yaml").write_text(MANIFEST)
    monkeypatch.setenv("AIRFLOW__ODF__PUSH_PATHS", str(folder / "in"))
    where = {"task_id": "push", "manifest": str(folder / "scans.yaml"), "store": str(folder / "store")}
    secret = str(folder / "secret.csv")
    context = {"dag_run": SimpleNamespace(conf={"file": secret})}
    with pytest.raises(AirflowFailException, match="push_paths does not allow it"):
        PushSourceOperator(**where).execute(context)
    assert not (folder / "store").exists()
    assert PushSourceOperator(**where, data=secret).execute(context)["dataset"] == "scans"
    context["dag_run"].conf = {"file": str(folder / "in" / "a b.csv")}
    assert PushSourceOperator(**where).execute(context)["dataset"] == "scans"

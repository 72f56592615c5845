"""What ``[odf] push_paths`` lets the conf of a run name."""

from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_odf import MergeOperator, PushSourceOperator
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.settings import push_paths
from tests.manifests import pushed

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


def test_buckets_and_containers():
    assert is_allowed("s3://bucket/in/a.csv", "s3://bucket/in")
    assert not is_allowed("s3://bucket/in/a.csv", "s3://Bucket/in")
    assert not is_allowed("s3://bucket/inner/a.csv", "s3://bucket/in")
    prefix = "abfss://drop@account.dfs.core.windows.net/in"
    assert is_allowed(f"{prefix}/a.csv", prefix)
    assert not is_allowed(f"{prefix}/a.csv".replace("drop@", "secret@"), prefix)


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
    assert push_paths.parse("") == ()
    assert push_paths.parse("*") is None
    assert push_paths.parse("None") == ()
    assert push_paths.parse("/a, https://b.org/c,") == ("/a", "https://b.org/c")
    for wrong in ("data/in", "sftp://bucket", "s3://", "https://", "https://b.org/c?d"):
        with pytest.raises(ValueError, match="is neither an absolute path nor a URI"):
            push_paths.parse(wrong)


MANIFEST = pushed("scans", "{kind: Csv}")


def test_it_holds_for_the_conf_of_a_run_and_not_for_the_author_of_a_dag(folder, monkeypatch):
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


@pytest.mark.parametrize(
    ("data", "prefixes"),
    [
        ("/data/in.csv", None),
        ("file:///data/in.csv", None),
        (["/data/in.csv", "https://example.org/a"], None),
        ({"file": "/data/in.csv", "source": "{{ params.source }}"}, None),
        ([{"a": 1}], None),
        ("{{ params.file }}", ()),
        ("/{{ params.file }}", ()),
        ("file:///{{ params.file }}", ()),
        ("https://{{ params.host }}/a.csv", ()),
        ("https://example.org{{ params.file }}", ()),
        ("data/{{ ds }}.csv", ()),
        ("/data/in/day-{{ ds }}.csv", ("/data/in/",)),
        ("file:///data/{% if true %}a{% endif %}", ("file:///data/",)),
        ("https://example.org/drop/{{ ds }}/a.csv", ("https://example.org/drop/",)),
        (["/a/{{ ds }}", "/b.csv"], ("/b.csv", "/a/")),
        ({"uri": "/a/{{ ds }}"}, ("/a/",)),
        (object(), ()),
    ],
)
def test_what_the_author_of_a_dag_wrote_out(data, prefixes):
    assert push_paths.author_prefixes(data) == prefixes


@pytest.mark.parametrize(
    ("uri", "is_below"),
    [("/data/in/a.csv", True), ("/data/in/../a.csv", False), ("/etc/passwd", False), ("https://a.org/data/in/", False)],
)
def test_a_template_cannot_leave_the_folder_before_it(uri, is_below, monkeypatch):
    monkeypatch.setattr("airflow_provider_odf.source.uris.local_files", lambda _: [])
    assert push_paths.allows(uri, ("/data/in/",)) == is_below
    assert push_paths.allows(uri, ("file:///data/in/",)) == is_below


@pytest.mark.parametrize("data", ["{{ params.file }}", object()])
def test_an_xcom_or_template_that_names_a_path_needs_a_permission(folder, data):
    (folder / "scans.yaml").write_text(MANIFEST)
    where = {"task_id": "merge", "manifest": str(folder / "scans.yaml"), "store": str(folder / "store")}
    for operator in (MergeOperator(**where, data=data), PushSourceOperator(**where, data=data)):
        operator.data = str(folder / "secret.csv")  # as Airflow fills it in
        with pytest.raises(AirflowFailException, match="push_paths does not allow it; allowed: records"):
            operator.execute({})
    operator = PushSourceOperator(**where, data=data, push_paths=[str(folder / "in")])
    operator.data = str(folder / "in" / "a b.csv")
    assert operator.execute({})["dataset"] == "scans"


def test_a_mapped_task_has_no_text_of_its_author(folder):
    (folder / "scans.yaml").write_text(MANIFEST)
    task = SimpleNamespace(dag_id="scans", run_id="1", task_id="merge", map_index=0)
    operator = MergeOperator(
        task_id="merge", manifest=str(folder / "scans.yaml"), store=str(folder / "store"), data="/etc/passwd"
    )
    with pytest.raises(AirflowFailException, match="push_paths does not allow it"):
        operator.execute({"ti": task})


@pytest.mark.parametrize("data", [7, [7], {"file": "/etc/passwd"}])
def test_data_of_another_form_is_refused(folder, data):
    (folder / "scans.yaml").write_text(MANIFEST)
    operator = MergeOperator(
        task_id="merge", manifest=str(folder / "scans.yaml"), store=str(folder / "store"), data=object()
    )
    operator.data = data
    with pytest.raises(AirflowFailException, match=r"data must be the XCom|XCom: InputReference has no field 'file'"):
        operator.execute({})


def test_a_redirect_needs_a_permission_too_and_no_answer_is_quoted(folder, server, monkeypatch):
    (folder / "scans.yaml").write_text(MANIFEST)
    where = {"task_id": "push", "manifest": str(folder / "scans.yaml"), "store": str(folder / "store")}
    monkeypatch.setenv("AIRFLOW__ODF__PUSH_PATHS", f"{server.url}/drop")
    server.serve("/admin", b"internal: 42", statuses=[500])
    server.serve("/drop/a.csv", location="/drop/b.csv")
    server.serve("/drop/b.csv", b"1\n")
    server.serve("/drop/out.csv", location="/admin")
    server.serve("/drop/refused.csv", statuses=[400], status_body=b"internal: 43")

    def push(path):
        context = {"dag_run": SimpleNamespace(conf={"uri": server.url + path})}
        return PushSourceOperator(**where).execute(context)

    assert push("/drop/a.csv")["fileCount"] == 1
    with pytest.raises(AirflowFailException) as refused:
        push("/drop/out.csv")
    assert str(refused.value) == (
        f"{server.url}/drop/out.csv: redirected to an address that [odf] push_paths does not allow"
    )
    assert [path for path, _ in server.requests if path == "/admin"] == []
    with pytest.raises(AirflowFailException) as refused:
        push("/drop/refused.csv")
    assert str(refused.value) == f"{server.url}/drop/refused.csv: HTTP 400 Bad Request"

from __future__ import annotations

import pytest

from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId, parse_name, parse_ref

DID = "did:odf:fed016b65f9b5b23c00006b65f9b5b23c0000b056960700000000561226bab29c83f7"


@pytest.mark.parametrize("name", ["valid.dataset.id", "local.id-only", "a", "0", "A1-b2.c3"])
def test_valid_names(name):
    assert parse_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".invalid", "invalid-", "invalid--id", "invalid..id", "in^valid", "invalid_id", "a.-b", "a\n", "naïve", "a/b"],
)
def test_invalid_names(name):
    with pytest.raises(ValueError, match="not a dataset name"):
        parse_name(name)


def test_message_has_a_name_that_would_do():
    with pytest.raises(ValueError, match=r"use 'my-data\.set'"):
        parse_name("my_data._set")


@pytest.mark.parametrize(
    ("text", "account", "name"), [("local.id", None, "local.id"), ("user-name/local.id", "user-name", "local.id")]
)
def test_valid_alias(text, account, name):
    alias = DatasetAlias.parse(text)
    assert (alias.account, alias.name, str(alias)) == (account, name, text)


@pytest.mark.parametrize(
    "text",
    ["repo.name/user-name/blah", "user-name/.invalid", ".invalid/local.id", "invalid_alias", "/a", "a/", "foo:bar"],
)
def test_invalid_alias(text):
    with pytest.raises(ValueError, match="is not a dataset name: letters, digits"):
        DatasetAlias.parse(text)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("account/net.example.com", "aCCouNt/net.ExaMplE.coM", True),
        ("net.example.com", "net.ExaMplE.coM", True),
        ("account/net.example.com", "aCCouNt1/net.eXamPle.cOm", False),
        ("net.example.com", "account/net.example.com", False),
    ],
)
def test_aliases_compare_without_case(one, other, equal):
    a, b = DatasetAlias.parse(one), DatasetAlias.parse(other)
    assert (a == b) is equal
    assert (len({a, b}) == 1) is equal
    assert str(b) == other


def test_aliases_sort_without_case():
    names = ["b", "A", "account/a", "C"]
    assert [str(a) for a in sorted(map(DatasetAlias.parse, names))] == ["A", "b", "C", "account/a"]


def test_id_text_and_binary():
    id_ = DatasetId.parse(DID)
    assert str(id_) == DID
    assert id_.binary.hex() == "ed016b65f9b5b23c00006b65f9b5b23c0000b056960700000000561226bab29c83f7"
    assert DatasetId.from_binary(id_.binary) == id_
    assert DatasetId.parse("did:odf:z6MkmgVreHBu2ABaD59Jq1J2JneXwzpsUWwEWXS4kLhjb4V4") == id_


@pytest.mark.parametrize("text", ["did:key:xASDSAD", DID[:-2], DID + "00", "did:odf:", "did:odf:f1620" + "00" * 32])
def test_invalid_id(text):
    with pytest.raises(ValueError, match="not a dataset id"):
        DatasetId.parse(text)


def test_created_ids_differ_and_are_keys():
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    one, other = DatasetId.create(), DatasetId.create()
    assert one != other
    Ed25519PublicKey.from_public_bytes(one.key)
    assert len(str(one)) == 77


def test_parse_ref():
    assert parse_ref(DID) == DatasetId.parse(DID)
    assert parse_ref("account/name") == DatasetAlias("account", "name")
    with pytest.raises(ValueError, match="'did:key:z6Mk' is not a dataset id: it does not start with 'did:odf:'"):
        parse_ref("did:key:z6Mk")
    with pytest.raises(ValueError, match="is not a dataset name"):
        parse_ref("foo:bar")
    for remote in ("repo/account/name", f"repo/{DID}"):
        with pytest.raises(ValueError, match=f"'{remote}' names a repository, and repositories are not known here"):
            parse_ref(remote)


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("file:///data/store/orders", "file:///data/store/orders"),
        ("FILE://localhost/data//store/orders/", "file:///data/store/orders"),
        ("file:///data/my%20store/orders", "file:///data/my%20store/orders"),
        ("file:///data/my store/orders", "file:///data/my%20store/orders"),
        ("s3://Bucket/Store/orders/", "s3://Bucket/Store/orders"),
        ("abfss://box@account.dfs.core.windows.net/orders", "abfss://box@account.dfs.core.windows.net/orders"),
        ("HTTPS://Example.com:8443/Store/orders/", "https://example.com:8443/Store/orders"),
    ],
)
def test_locations_have_one_spelling(text, uri):
    assert str(parse_ref(text)) == uri
    assert parse_ref(text) == parse_ref(uri)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("https://ann:secret@example.com/x", "has no user, password, parameters and fragment: .* ~/.netrc"),
        ("https://example.com/x?token=secret", "has no user, password, parameters and fragment"),
        ("s3://key:secret@bucket/x", "credentials of object stores are in the environment"),
        ("s3://bucket", "the location of a dataset is the URI of its folder: s3://…/…"),
        ("s3:///x", "the location of a dataset is the URI of its folder"),
        ("ftp://example.com/x", "are read from file, s3, gs, az, abfss, https, http, not from ftp:// locations: mount"),
        ("s3+http://key@bucket/x", r"not from s3\+http:// locations"),
        ("file://server/share/x", "the absolute path of its folder on this machine: file:///…"),
        ("file:///", "the absolute path of its folder"),
        ("file:///data/x?y=1", "the absolute path of its folder"),
    ],
)
def test_locations_of_other_machines_are_refused_without_their_secrets(text, message):
    with pytest.raises(ValueError, match=message) as e:
        parse_ref(text)
    assert "secret" not in str(e.value)
    assert "key" not in str(e.value)

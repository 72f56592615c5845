"""One policy for secrets: what counts as one, how it is masked, and that none comes out on the real paths."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_odf.redaction import is_sensitive, redact, secrets_of

SENSITIVE = """
    key KEY api-key apikey apiKey X-Api-Key client_key clientKey subscription-key Ocp-Apim-Subscription-Key private_key
    access_key AWS_SECRET_ACCESS_KEY AccountKey SharedKey fernet_key token ACCESS_TOKEN refreshToken X-Auth-Token secret
    client_secret password passwd PGPASSWORD passphrase pwd credential credentials X-Amz-Credential signature sig sslkey
    X-Goog-Signature auth Authorization Proxy-Authorization cookie Set-Cookie session session_id JSESSIONID bearer jwt
    DB_PASS sas_token keyfile_dict
"""
HARMLESS = "primary_key partition-key keyword keyboard monkey author year passenger compass design sigma Accept"


@pytest.mark.parametrize("name", SENSITIVE.split())
def test_sensitive_names(name):
    assert is_sensitive(name)


@pytest.mark.parametrize("name", HARMLESS.split())
def test_harmless_names(name):
    assert not is_sensitive(name)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("at https://me:pa55@h/a: refused", "at https://***@h/a: refused"),
        ("at https://ghp_t0ken@h/a", "at https://***@h/a"),
        ("redis://:p/a?ss@h/0", "redis://***@h/0"),
        ("postgresql://me:p@55@h:5432/db", "postgresql://***@h:5432/db"),
        ("abfss://data@account.dfs.core.windows.net/a", "abfss://data@account.dfs.core.windows.net/a"),
        ("http://h:8080/mail/me@h.org", "http://h:8080/mail/me@h.org"),
        (
            "jdbc:postgresql://h/db?user=me&password=pa55&ssl=true",
            "jdbc:postgresql://h/db?user=me&password=***&ssl=true",
        ),
        ("jdbc:oracle:thin:me/pa@55@//h:1521/svc", "jdbc:oracle:thin:***@//h:1521/svc"),
        ("jdbc:unknown:me:pa55@h", "jdbc:unknown:***@h"),
        ("jdbc:oracle:thin:@h:1521:x and a/me@h", "jdbc:oracle:thin:@h:1521:x and a/me@h"),
        ("jdbc:mysql:loadbalance://me:pa55@h/db", "jdbc:mysql:loadbalance://***@h/db"),
        ("jdbc:sqlserver://h;user=me;password=pa55;", "jdbc:sqlserver://h;user=me;password=***;"),
        ("https://h/a;jsessionid=f00?year=1", "https://h/a;jsessionid=***"),
        ("https://h/a?key=${{ env.KEY }}: HTTP 403", "https://h/a?key=${{ env.KEY }}: HTTP 403"),
        ("https://h/a?key=f00, then", "https://h/a?key=***, then"),
        ('{"password": "pa55", "user": "me"}', '{"password": "***", "user": "me"}'),
        ("fs.s3a.secret.key=f00 db_password='pa55'", "fs.s3a.secret.key=*** db_password='***'"),
        ("Authorization: Bearer abc.def", "Authorization: ***"),
        ("sent Bearer abcdefgh.ijkl", "sent Bearer ***"),
        ("Cookie: a=b; c=d\nAccept: */*", "Cookie: ***\nAccept: */*"),
        ("set-cookie: sid=f00; Path=/", "set-cookie: ***"),
        ("Authorization: ApiKey abcdefgh", "Authorization: ***"),
        ("Proxy-Authorization: Digest username=me, response=f00", "Proxy-Authorization: ***"),
        ("Authorization: Bearer ${{ env.T }}", "Authorization: ***${{ env.T }}"),
        ('{"password": "a b c", "user": "me"}', '{"password": "***", "user": "me"}'),
        ('{"password": "a \\"b\\" c", "n": 1}', '{"password": "***", "n": 1}'),
        (r"{\"password\": \"a b c\", \"n\": 1}", r"{\"password\": \"***\", \"n\": 1}"),
        ("PASSWORD='two words' USER=me", "PASSWORD='***' USER=me"),
        ("password = abc def", "password = *** def"),
        ("conf=a:password=abc", "conf=a:password=***"),
        ("at //u:pw@host/x", "at //***@host/x"),
        ("file:///a:b/c@d", "file:///a:b/c@d"),
        (r"https:\/\/u:pw@host\/x", r"https:\/\/***@host\/x"),
        (r"https:\/\/t0ken@host\/x", r"https:\/\/***@host\/x"),
        (r"https:\/\/h:8080\/mail\/me@h.org", r"https:\/\/h:8080\/mail\/me@h.org"),
        ("?to=https%3A%2F%2Fu%3Apw%40h%2Fa", "?to=https%3A%2F%2F***%40h%2Fa"),
        ("?to=https%3a//u%3apw%40h/a", "?to=https%3a//***%40h/a"),
        ("?to=https%3A%2F%2Fh%2Fmail%2Fme%40h", "?to=https%3A%2F%2Fh%2Fmail%2Fme%40h"),
        ("https://u:123/45@h", "https://***@h"),
        ("https://h:8080/@scope/a", "https://h:8080/@scope/a"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "***"),
        ("rows with the key: 5, session=7", "rows with the key: 5, session=7"),
    ],
)
def test_what_shows_itself_to_be_a_secret(text, masked):
    assert redact(text) == masked


def test_secrets_of_an_environment():
    pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END PRIVATE KEY-----"
    uri = "postgres://me:p%40ss@db:5432/x?sslkey=s5lk3y&__extra__=" + quote('{"api_token": "t0k3n"}')
    extra = json.dumps({"extra__google__keyfile_dict": json.dumps({"private_key": pem}), "region": "eu"})
    as_json = json.dumps({"conn_type": "http", "login": "me", "password": "pa55w0rd", "extra": extra})
    found = secrets_of(
        {
            "AIRFLOW_CONN_A": uri,
            "AIRFLOW_CONN_B": as_json,
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://airflow:db-pa55@h/airflow",
            "STORE_TOKEN": "abcde",
            "TOKENIZERS_PARALLELISM": "false",
            "HOME": "/home/me",
        }
    )
    assert {uri, as_json, "p%40ss", "p@ss", "s5lk3y", "t0k3n", "pa55w0rd", pem, "db-pa55", "abcde"} <= found
    assert not {"false", "/home/me", "eu", "me"} & found
    assert redact(f"has {pem} and\nMIIEvQIBADANBgkqhkiG9w0", found) == "has *** and\n***"


def test_secrets_of_connection_strings():
    assert secrets_of({"DSN": "host=h password=dbpw999 user=u"}) == {"dbpw999"}
    assert secrets_of({"CONNSTR": "Server=x;Pwd=abcde;"}) == {"abcde"}
    assert "p&w, c d" in secrets_of({"CONNSTR": "Server=x;Pwd=p&w, c d;Database=y"})
    assert secrets_of({"STORAGE": "AccountName=me;AccountKey=Zm9vYmFyYmF6cXV4Cg==;EndpointSuffix=x"}) == {
        "Zm9vYmFyYmF6cXV4Cg=="
    }
    assert secrets_of({"DSN": "host=h password='two words' sslmode=none"}) == {"two words"}
    assert secrets_of({"SETTINGS": "token=false password=$PASSWORD"}) == set()


def test_our_own_section_of_settings_is_no_secret():
    for text in ("s3://b/token: [odf] push_paths does not allow it", "Authorization: [odf] object_store_connections"):
        assert redact(text) == text
    assert redact("Authorization: odf") == "Authorization: ***"


@pytest.mark.parametrize(
    "spelling",
    [
        "SEKRET tok+99&x/ü",
        "SEKRET%20tok+99&x/%C3%BC",
        "SEKRET+tok%2B99&x%2f%c3%bc",
        "%53EKRET tok%2b99%26x/ü",
        r"SEKRET tok+99\u0026x\/\u00fc",
        r"SEKRET tok+99\u0026x\/\u00FC",
        "SEKRET%2520tok%252B99%2526x%252F%25C3%25BC",
        "SEKRET tok+99&amp;x&#47;&#xfc;",
        r"SEKRET tok+99&x/\xfc",
    ],
)
def test_a_secret_is_masked_however_its_characters_are_spelled(spelling):
    assert redact(f"GET /a?q={spelling}: HTTP 500", ["SEKRET tok+99&x/ü"]) == "GET /a?q=***: HTTP 500"


def test_masking_takes_linear_time():
    secret = '\\"%25&amp;' * 40
    for text in (
        '\\\\"%25&amp;' * 2000,
        "a=" * 20_000,
        "//a:b" * 4000,
        "a" * 50_000,
        "%2F" * 20_000,
        "%252525" * 9000,
        "jdbc:a:" * 4000,
    ):
        redact(text + "!", [secret])


SECRET = st.text("abcXYZ0189 /@:%&?=#+'\"\\ü\n", min_size=8, max_size=30).filter(lambda s: len(set(s)) > 5)


@given(SECRET, st.text(max_size=20), st.text(max_size=20))
def test_a_known_secret_is_masked_in_every_spelling(secret, before, after):
    spellings = (secret, quote(secret), quote(secret, safe=""), json.dumps(secret)[1:-1])
    encoded = base64.b64encode(secret.encode()).decode()
    mixed = "".join(quote(char, safe="") if at % 2 else char for at, char in enumerate(secret))
    for spelling in (*spellings, encoded, mixed):
        assert spelling not in redact(f"{before}{spelling}{after}", [secret])
    if len(secret) > 10:
        assert secret[2:] not in redact(secret[2:] + " end", [secret])
        assert secret[:-2] not in redact("begin " + secret[:-2], [secret])


WORD = st.from_regex(r"[A-Za-z0-9]{12,20}", fullmatch=True)


@given(WORD, st.sampled_from(SENSITIVE.split()))
def test_a_value_beside_a_sensitive_name_is_masked(secret, name):
    for text in (
        f"https://h/a?{name}={secret}",
        f"https://h/a?a=1&{name}={secret}&b=2: no",
        f"jdbc:x://h;{name}={secret};",
    ):
        assert secret not in redact(text)
    for text in (f"https://u:{secret}@h/a", f"ftp://{secret}@h/a", f"kafka://u:{secret}@h"):
        assert secret not in redact(text)

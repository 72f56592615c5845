"""``odf sql`` as a user starts it, with a query and with its prompt."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing

COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
ODF = Path(sys.executable).with_name("odf")


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


@pytest.fixture
def numbers(store):
    growing = Growing(store.create(DatasetAlias.parse("odd-numbers")), model.MergeStrategyAppend(), COLUMNS)
    growing.add(("+A", 1, "one"), ("+A", 3, None), ("+A", 5, 'a "b", c'))
    return growing


@pytest.fixture
def odf(store, tmp_path):
    def run(*arguments, text=None, **environment):
        known = {"ODF_STORE": store.location, **os.environ, **environment}
        return subprocess.run(
            [ODF, "sql", *arguments], env=known, input=text, capture_output=True, text=True, check=False, cwd=tmp_path
        )

    return run


def test_a_query(odf, numbers):
    done = odf('SELECT id, value FROM "odd-numbers" ORDER BY id')
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == 'id   value\n─────────────\n1    one\n3\n5    a "b", c\n'


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("csv", 'id,value\n1,one\n3,\n5,"a ""b"", c"\n'),
        ("json", '[{"id": 1, "value": "one"},\n {"id": 3, "value": null},\n {"id": 5, "value": "a \\"b\\", c"}]\n'),
    ],
)
def test_forms(odf, numbers, how, expected):
    assert odf('SELECT id, value FROM "odd-numbers" ORDER BY id', "--format", how).stdout == expected


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_a_query_from_standard_input(odf, numbers, arguments):
    done = odf(*arguments, "--format", "csv", text='SELECT count(*) AS n\nFROM "odd-numbers";\n')
    assert (done.returncode, done.stdout) == (0, "n\n3\n")


def test_no_rows(odf, numbers):
    done = odf('SELECT id FROM "odd-numbers" WHERE id > 9')
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "no rows\n")
    assert odf('SELECT id FROM "odd-numbers" WHERE id > 9', "--format", "csv").stdout == "id\n"


def test_more_rows_than_a_table_has(odf, numbers):
    numbers.add(*[("+A", number, "x") for number in range(1200)])
    done = odf('SELECT id FROM history."odd-numbers"')
    assert len(done.stdout.splitlines()) == 2 + 1000
    assert done.stderr == "… only the first 1,000 rows: use LIMIT, or --format csv for all\n"
    assert len(odf('SELECT id FROM history."odd-numbers"', "--format", "csv").stdout.splitlines()) == 1 + 1203


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1 FROM nope", "no dataset nope in "),
        ('SELECT idd FROM "odd-numbers"', "query, 1:8: No field named idd."),
        (
            "DELETE FROM x",
            "query: DELETE: only queries (SELECT, WITH, VALUES, UNION) are allowed (`odf push` adds rows)",
        ),
        ("DROP TABLE x", "query: DROP: only queries (SELECT, WITH, VALUES, UNION) are allowed (`odf list`"),
        (
            'SELECT a.id, b.id FROM "odd-numbers" a, "odd-numbers" b',
            "more than one column has the name id: name them with AS",
        ),
    ],
)
def test_errors(odf, numbers, query, message):
    done = odf(query)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_calls_of_as_of_with_other_arguments(odf, numbers, store):
    """DataFusion takes two calls of one name for the same table."""
    Growing(store.create(DatasetAlias.parse("other")), model.MergeStrategyAppend(), COLUMNS).add(("+A", 1, "b"))
    one, other = ("as_of('odd-numbers', '2030-01-01')", "AS_OF('other', '2030-01-01')")
    counts = f"SELECT (SELECT count(*) FROM {one}) AS a, (SELECT count(*) FROM {other}) AS b"
    assert odf(counts, "--format", "csv").stdout == "a,b\n3,1\n"
    assert odf(f"SELECT count(*) AS n FROM {one} JOIN {other} USING (id)", "--format", "csv").stdout == "n\n1\n"
    wrong = odf(f"SELECT 1\nFROM {one} a JOIN {other} b ON a.id = b.none")
    assert wrong.stderr.startswith("query, 2:91: No field named b.none")
    no_text = odf(f"SELECT 1 FROM {one}, as_of(1)").stderr
    assert no_text.startswith("as_of takes the name of a dataset as text")


@pytest.mark.parametrize("name", ["one=", ""])
def test_two_stores_of_one_name(odf, numbers, store, tmp_path, name):
    other = Store.open(tmp_path / "other" / Path(store.location).name)
    Growing(other.create(DatasetAlias.parse("odd-numbers")), model.MergeStrategyAppend(), COLUMNS).add(("+A", 1, "b"))
    done = odf("SELECT 1", "--store", f"{name}{store.location}", "--store", f"{name}{other.location}")
    assert done.returncode == 2
    same = name.removesuffix("=") or Path(store.location).name
    assert done.stderr.startswith(f"two stores have the name {same}: give each its own, as in --store one=")


@pytest.mark.parametrize(("expression", "column"), [("value || ", 9014), ("id + ", 5011), ("id = 1 OR ", 10015)])
def test_an_expression_that_would_end_the_process(odf, numbers, expression, column):
    """DataFusion overflows its stack."""
    done = odf("-", text=f'SELECT {expression * 20_000} 1 AS x FROM "odd-numbers"')
    said = f"query, 1:{column}: an expression has more than 1,000 operators (use IN, concat, or a join with VALUES)"
    assert (done.returncode, done.stderr) == (2, f"{said}\n")
    fine = odf("-", "--format", "csv", text=f'SELECT count({expression * 900} NULL) AS n FROM "odd-numbers"')
    assert fine.stderr == ""
    assert fine.stdout.startswith("n\n")


@pytest.mark.parametrize("clause", ["TABLESAMPLE", "FOR UPDATE"])
def test_clauses_that_datafusion_ignores(odf, numbers, clause):
    done = odf(f'SELECT 1 FROM "odd-numbers" {clause.lower()}')
    assert (done.returncode, done.stderr) == (2, f"query, 1:29: {clause} is not supported\n")


def test_several_stores(odf, numbers, store, tmp_path):
    other = Store.open(tmp_path / "the other")
    Growing(other.create(DatasetAlias.parse("odd-numbers")), model.MergeStrategyAppend(), COLUMNS).add(("+A", 1, "b"))
    query = 'SELECT a.value, b.value AS other FROM "odd-numbers" a JOIN b.current."odd-numbers" b USING (id)'
    done = odf(query, "--store", store.location, "--store", f"b={other.location}", "--format", "csv")
    assert done.stdout == "value,other\none,b\n"
    named = odf('SELECT value FROM "the other".current."odd-numbers"', "--store", other.location, "--format", "csv")
    assert named.stdout == "value\nb\n"
    assert odf("SELECT 1", "--store", str(tmp_path / "away")).stderr.startswith("no such folder: away (name the store")


def test_a_store_whose_path_has_a_space(odf, numbers, store, tmp_path):
    Path(store.location).rename(tmp_path / "my store")
    assert odf("SELECT 1 AS one", "--format", "csv", ODF_STORE=str(tmp_path / "my store")).stdout == "one\n1\n"


class Terminal:
    """The command at a terminal."""

    def __init__(self, store, home):
        environment = {**os.environ, "ODF_STORE": store.location, "HOME": str(home), "TERM": "dumb"}
        environment.pop("XDG_STATE_HOME", None)
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # of tests in the background of a shell, it is ignored
            os.execve(ODF, [str(ODF), "sql"], environment)
        self.seen = self.all = ""

    def until(self, text):
        """Read what the command prints up to a text; what came before it."""
        deadline = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            self.seen += self.read(2)
        before, _, self.seen = self.seen.partition(text)
        return before.replace("\r\n", "\n")

    def press(self, key, text):
        """Press a key until the command prints a text: one that the terminal itself interprets, such as Ctrl-C, may be
        lost between two reads of the command."""
        deadline = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            self.type(key)
            self.seen += self.read(2)
        while self.read(0.5):
            pass
        self.seen = ""

    def read(self, seconds):
        """Return what the command prints at once, nothing if it prints nothing for so many seconds."""
        ready, _, _ = select.select([self.file], [], [], seconds)
        try:
            part = os.read(self.file, 10_000).decode() if ready else ""
        except OSError as e:
            raise OSError(f"{e}: {self.all}") from e
        self.all += part
        return part

    def type(self, text):
        os.write(self.file, text.encode())

    def end(self, key):
        """Type a text, again if it is lost, until the command ends; its code."""
        while True:
            try:
                self.type(key)
                self.read(2)
            except OSError:  # the terminal is gone with the command
                break
        _, status = os.waitpid(self.pid, 0)
        os.close(self.file)
        return os.waitstatus_to_exitcode(status)


@pytest.fixture
def terminal(store, tmp_path):
    return Terminal(store, tmp_path)


def test_the_prompt(terminal, numbers, tmp_path):
    terminal.until("odf> ")
    terminal.type(".datasets\n")
    assert "odd-numbers" in terminal.until("odf> ")
    terminal.type(".schema odd-numbers\n")
    assert "id            int64" in terminal.until("odf> ")
    terminal.type("SELECT value\n")
    terminal.until("...> ")
    terminal.type('FROM "odd-numbers" WHERE id = 1;\n')
    assert "one" in terminal.until("odf> ")
    terminal.type('SELECT nope FROM "odd-numbers";\n')
    assert "No field named nope" in terminal.until("odf> ")
    terminal.type(".what\n")
    said = "unknown command .what (known: .datasets, .schema, .help, .exit)"
    assert said in terminal.until("odf> ")
    terminal.type('.schema history."odd-numbers"\n')
    assert "op            int32" in terminal.until("odf> ")
    terminal.type("SELECT\n")
    terminal.until("...> ")
    terminal.type(".5 AS half;\n")
    assert "0.5" in terminal.until("odf> ")
    terminal.type(".schema\n")
    assert ".schema needs the name of a dataset: .schema bike-stations" in terminal.until("odf> ")
    terminal.type("SELECT 1\n")
    terminal.until("...> ")
    terminal.type("help\n")
    assert "End a query with a semicolon." in terminal.until("odf> ")
    assert terminal.end("exit;\n") == 0
    assert ".schema odd-numbers" in (tmp_path / ".local/state/odf/sql_history").read_text()


def test_names_are_completed(terminal, numbers):
    terminal.until("odf> ")
    terminal.type('SELECT va\t FROM "odd\t WHERE id = 1;\n')
    assert "one" in terminal.until("odf> ")
    assert terminal.end(".exit\n") == 0


def test_a_line_that_is_given_up(terminal, numbers):
    terminal.until("odf> ")
    terminal.type("SELECT 1\n")
    terminal.until("...> ")
    terminal.press("\x03", "odf> ")
    terminal.type("SELECT 42 AS n;\n")
    assert "42" in terminal.until("odf> ")
    assert terminal.end("exit\n") == 0

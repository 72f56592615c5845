"""Sensitive columns through derivatives, as contracts, chains and lineage say."""

import pyarrow as pa
import pytest

from airflow_provider_odf.chain import schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.contract.sensitivity import Sensitivity
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.cycle.sensitive import SensitiveColumns
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.protocol import ContractReport

TIME = Instant.parse("2024-05-02T08:00:00Z")
SYSTEM = (
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("op", pa.int32(), nullable=False),
    pa.field("system_time", pa.timestamp("ms", "UTC"), nullable=False),
    pa.field("event_time", pa.timestamp("ms", "UTC")),
)
PEOPLE = """\
dataContractSpecification: 1.2.1
id: people
info: {title: people, version: 1.0.0}
models:
  people:
    fields:
      id: {type: long}
      Email: {type: string, pii: true, classification: restricted}
      city: {type: string, classification: internal}
"""
PII = ("classification=restricted", "pii=true")


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


def create(store, name, number, columns, *events):
    """Return the state of a new dataset; its id has the number."""
    draft = Draft(store.create(DatasetAlias.parse(name)))
    kind = "Derivative" if any(isinstance(event, model.SetTransform) for event in events) else "Root"
    fields = pa.schema([*SYSTEM, *(pa.field(column, pa.string()) for column in columns)])
    seed = model.Seed(dataset_id=f"did:odf:fed01{number:064}", dataset_kind=kind)
    for event in (seed, *events, schema.set_data_schema(fields)):
        draft.append(event, TIME)
    draft.dataset.storage.compare_and_set_ref("head", None, draft.state.head)
    return draft.state


def attachment(text):
    items = (model.AttachmentEmbedded(path="datacontract.yaml", content=text),)
    return model.SetAttachments(attachments=model.AttachmentsEmbedded(items=items))


def transform(query, *numbers, engine="spark"):
    refs = [f"did:odf:fed01{number:064}" for number in numbers]
    inputs = tuple(model.TransformInput(dataset_ref=ref, alias=f"t{n}") for ref, n in zip(refs, numbers, strict=True))
    return model.SetTransform(inputs=inputs, transform=model.TransformSql(engine=engine, query=query))


def labels(store, name, **options):
    dataset = store.dataset(name)
    return SensitiveColumns(store, **options).of(dataset, replay(dataset)).labels


def test_what_the_attached_contract_marks(store):
    create(store, "people", 1, ["id", "Email", "city"], attachment(PEOPLE))
    assert labels(store, "people") == {"email": PII}


@pytest.mark.parametrize(
    ("query", "sensitive"),
    [
        ("select event_time, id, email as contact from t1", {"contact"}),
        ("select event_time, id, upper(email) as a, md5(email) as b, city from t1", {"a", "b"}),
        ("select id, case when email is null then 'x' else city end as a from t1", {"a"}),
        ("select id, row_number() over (partition by email order by id) as a from t1", {"a"}),
        ("select id, city from t1 where email like '%x'", {"id", "city"}),
        ("select event_time, count(*) as n from t1 group by event_time, email", {"event_time", "n"}),
        ("select p.id, q.id as other from t1 p join t1 q on p.email = q.email", {"id", "other"}),
        ("select id, city from t1 order by id", set()),
        ("select * from t1", {"email"}),
        ("select id, exists(split(city, ' '), word -> word = email) as a from t1", {"a"}),
        ("select id, to_json(struct(*)) as a, hash(*) as b, count(*) over () as n from t1", {"a", "b"}),
        ("select id, struct(* except (id)) as a, struct(t1.*) as b from t1", {"a", "b"}),
        ("select id, identifier('email') as a from t1", {"a"}),
        ("select id, city from identifier('t1') as t (id, city)", {"id", "city"}),
        ("select id, e.city from t1, elsewhere e", {"city"}),
        ("selec nonsense", {"event_time", "id", "city", "email"}),
    ],
)
def test_columns_inherit_over_every_use(store, query, sensitive):
    create(store, "people", 1, ["id", "Email", "city"], attachment(PEOPLE))
    made = transform(query, 1)
    found = SensitiveColumns(store).of_transform(Sensitivity(), made, None)
    known = {"contact", "a", "b", "n", "other", "id", "city", "email", "event_time"}
    columns = [*(column.name for column in SYSTEM[:3]), *sorted(known)]
    at_schema = SensitiveColumns(store).of_transform(Sensitivity(), made, columns)
    if query == "selec nonsense":
        assert found.labels == {"*": PII}
        assert sensitive <= set(at_schema.labels)
    else:
        assert set(found.labels) == set(at_schema.labels) == sensitive


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("select event_time, id, upper(email) from t1", "upper(email)"),
        ("select event_time, id, luhn_check(email) from t1", "luhn_check(email)"),
        ("select event_time, id, cast(email as binary) from t1", "CAST(email AS BINARY)"),
        ("select event_time, id, json_tuple(email, 'a', 'b') from t1", "c1"),
        ("select event_time, id, min(city) over (order by email) from t1", "min(city) OVER (ORDER BY email)"),
    ],
)
def test_a_column_that_spark_names(store, query, column):
    create(store, "people", 1, ["id", "Email", "city"], attachment(PEOPLE))
    create(store, "derived", 2, ["id", column], transform(query, 1))
    assert labels(store, "derived") == {column.lower(): PII}
    before_the_first_run = SensitiveColumns(store).of_transform(Sensitivity(), transform(query, 1))
    assert before_the_first_run.of(column) == PII


@pytest.mark.parametrize(
    ("engine", "query"),
    [
        ("datafusion", 'select "id", lower("Email") as a from t1'),
        ("flink", "SELECT id, UPPER(Email) AS a FROM t1"),
        ("risingwave", 'create materialized view v as select id, upper("Email") as a from t1'),
    ],
)
def test_every_dialect(store, engine, query):
    create(store, "people", 1, ["id", "Email", "city"], attachment(PEOPLE))
    made = SensitiveColumns(store).of_transform(Sensitivity(), transform(query, 1, engine=engine))
    assert made.labels == {"a": PII}


def test_several_levels_and_stores_and_a_contract_that_lowers(store, tmp_path):
    create(store, "people", 1, ["id", "Email", "city"], attachment(PEOPLE))
    create(store, "contacts", 2, ["id", "a", "b"], transform("select id, email as a, sha2(email, 256) as b from t1", 1))
    other = Store.open(tmp_path / "other", others=[str(tmp_path / "store")])
    lowered = PEOPLE.replace("people", "sums").replace("Email: {type: string, pii: true, classification: restricted}",
                                                       "b: {type: string, pii: false}")  # fmt: skip
    last = transform("select id, concat(a, 'x') as c, b from t2", 2)
    create(other, "sums", 3, ["id", "c", "b"], last, attachment(lowered))
    assert labels(store, "contacts") == {"a": PII, "b": PII}
    assert labels(other, "sums") == {"c": PII}
    create(other, "more", 4, ["b"], transform("select b from t3", 3))
    assert labels(other, "more") == {}


def test_an_input_that_cannot_be_read(store):
    create(store, "late", 2, ["id", "a"], transform("select id, a from t1", 1))
    assert labels(store, "late") == {"id": ("classification=sensitive",), "a": ("classification=sensitive",)}


def test_the_file_next_to_the_manifest_counts_before_the_attachment(store, tmp_path):
    create(store, "people", 1, ["id", "Email", "city"], attachment(PEOPLE))
    (tmp_path / "people.datacontract.yaml").write_text(PEOPLE.replace("Email:", "Mail:").replace("internal", "secret"))
    assert labels(store, "people", folder=tmp_path) == {
        "mail": PII,
        "city": ("classification=secret",),
    }


def test_without_a_file_the_newest_test_counts(store):
    state = create(store, "people", 1, ["id", "Email", "city"])
    create(store, "derived", 2, ["id", "a"], transform("select id, email as a from t1", 1))
    dataset = store.dataset("people")
    draft = Draft(dataset, state)
    draft.append(model.AddData(new_watermark=TIME), TIME)
    dataset.storage.compare_and_set_ref("head", state.head, draft.state.head)
    candidate = Candidate("people", state.head, draft.state.head, "candidate-1", records=1)
    report = ContractReport("c", "d", "people", (), sensitive_columns=("Email",))
    candidates.save_report(dataset, candidate, report)
    assert labels(store, "derived") == {"a": ("classification=sensitive",)}
    candidates.save_report(dataset, candidate, report, sensitivity=Sensitivity({"email": ("pii=true",)}, ("id",)))
    assert labels(store, "derived") == {"a": ("pii=true",)}

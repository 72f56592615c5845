"""COVID-19 cases of four provinces, harmonized, put together and counted by day: ten datasets on four levels. The
manifests are those of the reference's example, without descriptions.

The roots are polled from files that grow: each has all rows so far.
"""

import gzip
from collections.abc import Mapping, Sequence

_ROOT = """\
kind: DatasetSnapshot
version: 1
content:
  name: covid19.{name}.case-details
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch:
        kind: Url
        url: {{url}}
{source}
      merge:
        kind: Ledger
        primaryKey:
          - {key}
    - kind: SetVocab
      eventTimeColumn: {event_time}
"""

_DERIVATIVE = """\
kind: DatasetSnapshot
version: 1
content:
  name: {name}
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
{inputs}
      transform:
        kind: Sql
        engine: {engine}
        query: |
{query}
    - kind: SetVocab
      eventTimeColumn: reported_date
"""

ALBERTA = _ROOT.format(
    name="alberta",
    key="id",
    event_time="date_reported",
    source="""\
      read:
        kind: Csv
        header: true
        schema:
          - id BIGINT
          - date_reported TIMESTAMP
          - zone STRING
          - gender STRING
          - age_group STRING
          - case_status STRING
          - case_type STRING""",
)

BRITISH_COLUMBIA = _ROOT.format(
    name="british-columbia",
    key="id",
    event_time="reported_date",
    source="""\
      read:
        kind: Csv
        separator: ","
        header: true
        nullValue: ""
      preprocess:
        kind: Sql
        engine: datafusion
        query: |
          select
            to_timestamp("Reported_Date") as reported_date,
            "Classification_Reported" as classification,
            cast(row_number() over (order by "Reported_Date") as bigint) as id,
            "HA" as ha,
            "Sex" as sex,
            "Age_Group" as age_group
          from input""",
)

ONTARIO = _ROOT.format(
    name="ontario",
    key="id",
    event_time="case_reported_date",
    source="""\
      prepare:
        - kind: Decompress
          format: Gzip
      read:
        kind: Csv
        separator: ","
        header: true
        nullValue: ""
      preprocess:
        kind: Sql
        engine: datafusion
        query: |
          SELECT
            cast("Row_ID" as bigint) as id,
            to_timestamp(coalesce("Case_Reported_Date", "Test_Reported_Date")) as case_reported_date,
            case
              when "Test_Reported_Date" != '' then to_timestamp("Test_Reported_Date")
              else null
            end as test_reported_date,
            "Outcome1" as outcome,
            "Reporting_PHU_City" as city,
            "Client_Gender" as gender,
            "Age_Group" as age_group,
            "Reporting_PHU_Latitude" as latitude,
            "Reporting_PHU_Longitude" as longitude
          FROM input""",
)

# The example selects `objectid`. DataFusion refuses this since the reference keeps the case of names.
QUEBEC = _ROOT.format(
    name="quebec",
    key="row_id",
    event_time="date_reported",
    source="""\
      read:
        kind: Csv
        header: true
        schema:
          - ObjectId BIGINT
          - row_id BIGINT
          - date_reported STRING
          - health_region STRING
          - age_group STRING
          - gender STRING
          - exposure STRING
          - case_status STRING
          - latitude FLOAT
          - longitude FLOAT
          - province STRING
          - province_abbr STRING
          - hr_uid INT
      preprocess:
        kind: Sql
        engine: datafusion
        query: |
          select
            ObjectId,
            row_id,
            to_timestamp(date_reported, '%Y/%m/%d %H:%M:%S%#z') as date_reported,
            health_region,
            age_group,
            gender,
            exposure,
            case_status,
            latitude,
            longitude,
            province,
            province_abbr,
            hr_uid
          from input""",
)

ROOTS = {"alberta": ALBERTA, "british-columbia": BRITISH_COLUMBIA, "ontario": ONTARIO, "quebec": QUEBEC}

_GENDER = """\
case when lower(gender) = 'male' then 'M'
                 when lower(gender) = 'female' then 'F'
                 else 'U' end as gender"""
_AGE_GROUPS = {
    "alberta": {
        "Under 1 year": "<20", "1-4 years": "<20", "5-9 years": "<20", "10-19 years": "<20", "20-29 years": "20s",
        "30-39 years": "30s", "40-49 years": "40s", "50-59 years": "50s", "60-69 years": "60s", "70-79 years": "70s",
        "80+ years": "80s",
    },
    "british-columbia": {
        "<10": "<20", "10-19": "<20", "20-29": "20s", "30-39": "30s", "40-49": "40s", "50-59": "50s", "60-69": "60s",
        "70-79": "70s", "80-89": "80s", "90+": "90+",
    },
    "quebec": {
        "<20": "<20", "20-29": "20s", "30-39": "30s", "40-49": "40s", "50-59": "50s", "60-69": "60s", "70-79": "70s",
        "80+": "80s",
    },
}  # fmt: skip


def _derivative(name: str, inputs: Sequence[str], query: str, engine: str = "datafusion") -> str:
    refs = "\n".join(f"        - datasetRef: {source}" for source in inputs)
    lines = "\n".join(f"          {line}" for line in query.splitlines())
    return _DERIVATIVE.format(name=name, inputs=refs, engine=engine, query=lines)


def _age_group(province: str) -> str:
    cases = "\n".join(f"  when age_group = '{old}' then '{new}'" for old, new in _AGE_GROUPS[province].items())
    return f"case\n{cases}\n  else 'UNKNOWN' end as age_group"


def _harmonized(province: str, *columns: str) -> str:
    source = f"covid19.{province}.case-details"
    return _derivative(f"{source}.hm", [source], f'SELECT\n  {", ".join(columns)}\nFROM "{source}"')


_PROVINCES = {"alberta": "AB", "british-columbia": "BC", "ontario": "ON", "quebec": "QC"}
CASES = "covid19.canada.case-details"
DAILY = "covid19.canada.daily-cases"
DERIVATIVES = {
    "covid19.alberta.case-details.hm": _harmonized(
        "alberta", "id", "date_reported as reported_date", _GENDER, _age_group("alberta"), "zone as location"
    ),
    "covid19.british-columbia.case-details.hm": _harmonized(
        "british-columbia", "id", "reported_date", "sex as gender", _age_group("british-columbia"), "ha as location"
    ),
    "covid19.ontario.case-details.hm": _harmonized(
        "ontario", "id", "case_reported_date as reported_date", _GENDER, "age_group", "city as location"
    ),
    "covid19.quebec.case-details.hm": _harmonized(
        "quebec",
        "row_id as id",
        "date_reported as reported_date",
        _GENDER,
        _age_group("quebec"),
        "health_region as location",
    ),
    CASES: _derivative(
        CASES,
        [f"covid19.{province}.case-details.hm" for province in _PROVINCES],
        "\nunion all\n".join(
            f"select\n  '{letters}' as province,\n  id,\n  reported_date,\n  gender,\n  location\n"
            f'  from "covid19.{province}.case-details.hm"'
            for province, letters in _PROVINCES.items()
        ),
    ),
    DAILY: _derivative(
        DAILY,
        [CASES],
        f"""\
select
  window_end - interval '1' second as reported_date,
  province,
  count(1) as total_daily
from tumble(
  "{CASES}",
  reported_date,
  interval '1' day
)
group by 1, 2
emit on window close""",
        engine="risingwave",
    ),
}

HEADERS = {
    "alberta": "id,date_reported,zone,gender,age_group,case_status,case_type",
    "british-columbia": "Reported_Date,Classification_Reported,HA,Sex,Age_Group",
    "ontario": "Row_ID,Case_Reported_Date,Test_Reported_Date,Outcome1,Reporting_PHU_City,Client_Gender,Age_Group,"
    "Reporting_PHU_Latitude,Reporting_PHU_Longitude",
    "quebec": "ObjectId,row_id,date_reported,health_region,age_group,gender,exposure,case_status,latitude,longitude,"
    "province,province_abbr,hr_uid",
}


def _quebec(id_: int, time: str, age_group: str, gender: str) -> str:
    place = "45.5,-73.6,Quebec,QC,2406"
    return f"{id_},{id_},2020/03/{time}+00,Montreal,{age_group},{gender},Not Reported,Recovered,{place}"


PIECES: Sequence[Mapping[str, Sequence[str]]] = [
    {
        "alberta": [
            "1,2020-03-05,Calgary Zone,Female,50-59 years,NA,Confirmed",
            "2,2020-03-06,Edmonton Zone,Male,Under 1 year,NA,Confirmed",
        ],
        "british-columbia": ["2020-03-05,Lab-diagnosed,Interior,M,40-49", "2020-03-05,Lab-diagnosed,Fraser,F,90+"],
        "ontario": ["10,2020-03-05,,Resolved,Toronto,FEMALE,20s,43.65,-79.37"],
        "quebec": [_quebec(7, "05 05:00:00", "20-29", "Male")],
    },
    {  # the watermark passes the first two days
        "alberta": ["3,2020-03-07,Calgary Zone,Unknown,Unknown,NA,Confirmed"],
        "british-columbia": ["2020-03-06,Lab-diagnosed,Interior,M,<10", "2020-03-07,Epi-linked,Fraser,U,80-89"],
        "ontario": ["11,,2020-03-07,Fatal,Ottawa,MALE,90+,45.42,-75.69"],
        "quebec": [_quebec(8, "06 00:00:00", "80+", "Female"), _quebec(9, "07 00:30:00", "Not Reported", "NA")],
    },
    {  # late cases of the first two days; the watermark passes the third
        "alberta": [
            "4,2020-03-05,Calgary Zone,Male,20-29 years,Died,Confirmed",
            "5,2020-03-09,North Zone,Female,80+ years,NA,Confirmed",
        ],
        "british-columbia": ["2020-03-08,Lab-diagnosed,Fraser,F,70-79"],
        "ontario": [
            "12,2020-03-08,2020-03-07,Resolved,Toronto,MALE,30s,43.65,-79.37",
            "13,2020-03-06,,Resolved,Ottawa,GENDER DIVERSE,40s,45.42,-75.69",
        ],
        "quebec": [_quebec(10, "08 23:00:00", "<20", "Male")],
    },
]
EXPECTED_CASES = """\
AB 1 2020-03-05T00:00:00Z F Calgary Zone
AB 2 2020-03-06T00:00:00Z M Edmonton Zone
AB 3 2020-03-07T00:00:00Z U Calgary Zone
AB 4 2020-03-05T00:00:00Z M Calgary Zone
AB 5 2020-03-09T00:00:00Z F North Zone
BC 1 2020-03-05T00:00:00Z M Interior
BC 2 2020-03-05T00:00:00Z F Fraser
BC 3 2020-03-06T00:00:00Z M Interior
BC 4 2020-03-07T00:00:00Z U Fraser
BC 5 2020-03-08T00:00:00Z F Fraser
ON 10 2020-03-05T00:00:00Z F Toronto
ON 11 2020-03-07T00:00:00Z M Ottawa
ON 12 2020-03-08T00:00:00Z M Toronto
ON 13 2020-03-06T00:00:00Z U Ottawa
QC 10 2020-03-08T23:00:00Z M Montreal
QC 7 2020-03-05T05:00:00Z M Montreal
QC 8 2020-03-06T00:00:00Z F Montreal
QC 9 2020-03-07T00:30:00Z U Montreal
"""
EXPECTED_DAYS = """\
AB 2020-03-05T23:59:59Z 2
AB 2020-03-06T23:59:59Z 1
AB 2020-03-07T23:59:59Z 1
BC 2020-03-05T23:59:59Z 2
BC 2020-03-06T23:59:59Z 1
BC 2020-03-07T23:59:59Z 1
ON 2020-03-05T23:59:59Z 1
ON 2020-03-06T23:59:59Z 1
ON 2020-03-07T23:59:59Z 1
QC 2020-03-05T23:59:59Z 1
QC 2020-03-06T23:59:59Z 1
QC 2020-03-07T23:59:59Z 1
"""


def content(province: str, rows: Sequence[str]) -> bytes:
    """Return rows as the file that a province publishes."""
    text = "".join(f"{line}\n" for line in (HEADERS[province], *rows)).encode()
    return gzip.compress(text, mtime=0) if province == "ontario" else text

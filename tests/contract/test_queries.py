"""The columns that the number of a query tells about."""

import pytest

from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.contract.queries import columns_of_number

CONTRACT = """\
dataContractSpecification: 1.2.1
id: people
info: {title: people, version: 1.0.0}
models:
  People-2:
    fields:
      Id: {type: long}
      Salary: {type: long}
      a.b: {type: long}
"""
MODEL = parse(CONTRACT, "c.yaml").contract.models[0]


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("select max(SALARY) from `people-2`", ["salary"]),
        ("select avg(salary) from `People-2` where id > 1;", ["id", "salary"]),
        ("select max(id) from `People-2` order by salary", ["id", "salary"]),
        ("select max(`a.b`) from `people-2`", ["a.b"]),
        ("select max(case when id > 1 then salary end) from `people-2`", ["id", "salary"]),
        ("select max(crc32(salary)) from `people-2`", ["salary"]),
        ("select count(crc32(salary)) from `people-2`", ["salary"]),
        ("with x as (select salary s from `people-2`) select max(s) from x", ["salary"]),
        ("select count(*) from `people-2` where salary > 1", []),
        ("select count(distinct salary) * 100 / count(*) from `people-2`", []),
        ("select count(*) from `people-2` p join elsewhere e on p.salary = e.x", []),
        ("select sum(case when salary is null then 1 else 0 end) from `people-2`", []),
        ("select 1", []),
        ("select max(more) from `people-2`", ["*"]),
        ("select max(e.x) from `people-2` p join elsewhere e on p.id = e.id", ["*", "id"]),
        ("select (", ["*"]),
        ("drop table x", ["*"]),
        ("select max(x) from elsewhere", ["*"]),
    ],
)
def test_columns(query, columns):
    assert columns_of_number(query, MODEL) == columns

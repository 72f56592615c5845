from __future__ import annotations

import shlex

import pytest

from airflow_provider_odf.manifest.command_line import listed
from airflow_provider_odf.manifest.yaml_source import parse


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("jq -c .", "[jq, -c, .]"),
        ("head -n 5", '[head, -n, "5"]'),
        ("jq '.[]'  -c", '[jq, ".[]", -c]'),
        ("./clean.sh --mode=x no", '[./clean.sh, --mode=x, "no"]'),
        ("grep a#b", '[grep, "a#b"]'),
        ("cat | sort", '[sh, -c, "cat | sort"]'),
        ("sed 's/a//", """[sed, "'s/a//"]"""),
        ("", "[]"),
    ],
)
def test_listed(line: str, expected: str) -> None:
    assert listed(line) == expected


@pytest.mark.parametrize("line", ["jq -c . -1 1e5 .5 ~ on", "a: {b} [c] *d &e - -- ' ' é", "-x --a-b /usr/bin/x.y"])
def test_the_list_is_yaml_of_the_words(line: str) -> None:
    assert parse(f"kind: {listed(line.replace('&', ''))}", "f")[0].value["kind"] == shlex.split(line.replace("&", ""))

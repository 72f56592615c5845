from __future__ import annotations

import shlex

import pytest

from airflow_provider_odf.manifest.yaml_source import command_list, parse


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
    assert command_list(line) == expected


@pytest.mark.parametrize("line", ["jq -c . -1 1e5 .5 ~ on", "a: {b} [c] *d &e - -- ' ' é", "-x --a-b /usr/bin/x.y"])
def test_the_list_is_yaml_of_the_words(line: str) -> None:
    assert parse(f"kind: {command_list(line.replace('&', ''))}", "f")[0].value["kind"] == shlex.split(
        line.replace("&", "")
    )

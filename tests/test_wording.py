from airflow_provider_odf.wording import counted


def test_numbers_have_their_nouns() -> None:
    assert [counted(n, "record") for n in (0, 1, 2, 15_000_000)] == [
        "0 records",
        "1 record",
        "2 records",
        "15,000,000 records",
    ]

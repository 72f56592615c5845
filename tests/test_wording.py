from airflow_provider_odf.errors import InvalidInput, ManifestInvalid, Place, Problem
from airflow_provider_odf.protocol import Changes
from airflow_provider_odf.wording import counted, listed, suggestion


def test_numbers_have_their_nouns() -> None:
    assert [counted(n, "record") for n in (0, 1, 2, 15_000_000)] == [
        "0 records",
        "1 record",
        "2 records",
        "15,000,000 records",
    ]


def test_changes() -> None:
    assert str(Changes(1, 1, 2)) == "1 added, 1 removed, 2 corrected"
    assert str(Changes(added=1200) + Changes(corrected=1)) == "1,200 added, 1 corrected"


def test_suggestions() -> None:
    names = [f"column_{n}" for n in range(1000)]
    assert suggestion("Colum_7", names) == "did you mean `column_7`?"
    assert suggestion("zzz", names[:3]) == "known: column_0, column_1, column_2"
    assert suggestion("zzz", []) == "known: none"
    assert listed(names).endswith(", column_19 and 980 more")


def test_messages_are_of_bounded_length() -> None:
    long = "x" * 100_000
    problem = Problem(Place("a.yaml", 1, 2), f"start {long} end", fix=long)
    for text in (str(InvalidInput(f"start {long} end")), str(ManifestInvalid([problem])), str(problem)):
        assert len(text) < 5000
        assert "characters left out) … xxx" in text
        assert "start xxx" in text
    assert str(problem).startswith("a.yaml:1:2: start xxx")

"""Every loader that the documentation shows works where Airflow reads it, in its safe mode."""

import pytest

from docs import pages
from tests.airflow_parts import import_errors, read_bag
from tests.manifests import pushed

SNIPPETS = {
    f"{page.relative_to(pages.ROOT)}:{block.first_line}": block.text
    for page in pages.pages()
    for block in pages.blocks(page.read_text())
    if block.language == "python" and ("build_dags(" in block.text or "raise_manifest_errors(" in block.text)
}


def test_there_are_loaders():
    pages_with_both = {place.partition(":")[0] for place in SNIPPETS}
    assert pages_with_both >= {"README.md", "docs/tutorial.md", "docs/reference/operators.md"}


@pytest.mark.parametrize("place", SNIPPETS)
def test_a_loader_of_the_documentation(place, tmp_path, monkeypatch):
    monkeypatch.setenv("ODF_STORE", str(tmp_path / "store"))
    (tmp_path / "loader.py").write_text(SNIPPETS[place])
    (tmp_path / "right.yaml").write_text(pushed("right", "Parquet", "Append"))
    (tmp_path / "bad.yaml").write_text(pushed("bad", "Parquet", "Apend"))
    bag = read_bag(dag_folder=tmp_path, bundle_path=tmp_path, safe_mode=True)
    if "build_dags(" in SNIPPETS[place]:
        assert (sorted(bag.dags), bag.import_errors) == (["bad", "right"], {})
    else:
        assert list(bag.dags) == []
        assert "bad.yaml:10:14: 'Apend' is not a merge strategy" in import_errors(bag)["loader.py"]

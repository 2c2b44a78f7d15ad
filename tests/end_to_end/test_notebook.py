"""The notebook of examples/, run by Jupyter's own client."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.readers
def test_every_cell_runs(tmp_path):
    import nbclient
    import nbformat

    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    notebook = nbformat.read(ROOT / "examples/cells.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # they grow old

    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    told = "".join(output.get("text", "") for output in outputs if output.get("name") == "stderr")
    # A build that takes some seconds, as on a busy machine, tells how far it is.
    assert [line for line in told.splitlines() if not line.startswith("records: ")] == []

"""The notebook of examples/, run by Jupyter's client in the folder where Jupyter starts it."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.readers
def test_every_cell_runs(tmp_path):
    import nbclient
    import nbformat

    folder = shutil.copytree(ROOT / "examples", tmp_path / "examples")
    notebook = nbformat.read(folder / "cells.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # they become outdated

    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    printed = "".join(
        output.get("text", "") for output in outputs if output.get("name") == "stderr"
    )
    # A build that takes seconds, as on a busy machine, prints its progress.
    assert [line for line in printed.splitlines() if not line.startswith("records: ")] == []


def test_what_it_reads_is_next_to_it_and_what_it_installs_brings_jupyter():
    """Jupyter starts a notebook in the notebook's folder."""
    cells = json.loads((ROOT / "examples/cells.ipynb").read_text())["cells"]
    text = "".join("".join(cell["source"]) for cell in cells)
    (path,) = (line.split('"')[1] for line in text.splitlines() if " input=" in line)
    assert (ROOT / "examples" / path).is_dir()
    assert "'.[notebook]'" in text
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {name.split(">=")[0] for name in project["optional-dependencies"]["notebook"]}
    assert names >= {"ipykernel", "jupyterlab"}

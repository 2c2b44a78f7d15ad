"""The modules that both packages need: neither imports the other, so each has the same ones."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("module", ["urls", "clients", "remote_faults"])
def test_credentials_endpoints_and_faults_are_the_pipelines(module):
    """A user sets them once for both; what is changed in one package, is copied to the other."""
    pipelines = (ROOT / f"beam_pipeline/files/{module}.py").read_text()
    ours = (ROOT / f"trainer/store/{module}.py").read_text()
    expected = pipelines.replace("beam_pipeline.files", "trainer.store")
    expected = expected.replace("beam_pipeline", "trainer")
    assert ours == expected, f"copy beam_pipeline/files/{module}.py with these names replaced"

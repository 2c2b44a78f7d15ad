"""The schemas of `tutorial_files` as a fixture."""

import pytest


@pytest.fixture(params=["boxes", "values", pytest.param("audio", marks=pytest.mark.slow)])
def schema(request: pytest.FixtureRequest) -> str:
    """Name of a schema."""
    name: str = request.param
    return name

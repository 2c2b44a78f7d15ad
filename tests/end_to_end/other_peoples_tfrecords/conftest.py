"""The kinds of records of `tutorial_files`, one in turn."""

import pytest


@pytest.fixture(params=["boxes", "values", pytest.param("audio", marks=pytest.mark.slow)])
def schema(request: pytest.FixtureRequest) -> str:
    """The name of a schema."""
    name: str = request.param
    return name

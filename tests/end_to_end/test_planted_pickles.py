"""Pickles planted in a build's working directory are never executed."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiers import first_in_ci

import beam_pipeline
from beam_pipeline import pipeline
from beam_pipeline.running import pickling
from beam_pipeline.write import commit
from beam_pipeline.write.directories import working_root

# A plain pickle, and one packed like batches in Beam.
FORMS = {"plain": pickling.pickled, "packed": pickling.pack}


class Act:
    """A call, as in a malicious pickle."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


@pytest.fixture
def evil(tmp_path):
    """evil(form) -> a pickle that creates the folder "acted"."""
    return lambda form: FORMS[form]([Act(tmp_path / "acted")])


@pytest.fixture
def config(tmp_path):
    noise = np.random.default_rng(0)
    for number in range(12):
        path = tmp_path / f"in/class_{number % 2}/{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = noise.integers(0, 256, (80, 90, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path, compress_level=0)
    (tmp_path / "in/class_0/bad.png").write_bytes(b"no image" * 2500)
    (tmp_path / "in/class_1/bad.png").write_bytes(b"no image" * 2500)
    return beam_pipeline.BuildConfig(
        input=str(tmp_path / "in"),
        output=str(tmp_path / "out"),
        name="pets",
        num_shards=2,
        max_bad_fraction=0.5,
        threads=2,
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", first_in_ci(FORMS))
def test_a_build_over_pickles_of_somebody_else(config, evil, form, tmp_path, monkeypatch):
    """Every file of a build killed before its commit is a pickle."""

    def killed(*_):
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(commit, "write_rejects", killed)
        patch.setattr(pipeline, "drop_unfinished", lambda *_: None)
        with pytest.raises(RuntimeError, match="killed"):
            beam_pipeline.build(config)
    files = [path for path in Path(working_root(config)).rglob("*") if path.is_file()]
    assert "receipts" in {path.parent.name for path in files}
    for path in files:
        path.write_bytes(evil(form))

    info = beam_pipeline.build(config)

    assert not (tmp_path / "acted").exists()
    assert info.num_records("train") == 12
    assert not Path(working_root(config)).exists()


@pytest.mark.parametrize("form", FORMS)
def test_the_pickles_would_act(evil, form, tmp_path):
    pickling.unpack(evil(form))
    assert (tmp_path / "acted").exists()

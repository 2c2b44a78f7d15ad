"""A folder of sounds by class: as they are, and brought to one rate and one channel."""

import numpy as np
import pytest
import soundfile

import beam_pipeline
import trainer
from beam_pipeline.cli import commands

FORMS = {"a.wav": ("WAV", "PCM_24"), "b.flac": ("FLAC", "PCM_16"), "c.ogg": ("OGG", "VORBIS")}
FORMS["d.mp3"] = ("MP3", "MPEG_LAYER_III")
RATE = 16_000


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A folder a class of one stereo sound of each encoding."""
    root = tmp_path_factory.mktemp("sounds") / "words"
    random = np.random.default_rng(0)
    for label in ("no", "yes"):
        (root / label).mkdir(parents=True)
        for name, (form, subtype) in FORMS.items():
            samples = 0.1 * np.cumsum(random.normal(size=(4000, 2)), axis=0) / 20
            soundfile.write(root / label / name, samples, RATE, subtype, format=form)
    return root


def records_of(words, tmp_path, capsys, *options):
    code = commands.main(["build", str(words), "--output", str(tmp_path), *options])
    directory = capsys.readouterr().out.strip()
    assert code == 0
    info = beam_pipeline.open(directory)
    assert beam_pipeline.verify(info) == []
    assert info.classes == ("no", "yes")
    dataset = trainer.open(directory)
    return dataset.features["audio"], list(dataset.numpy())


def sources(words):
    return {
        (label, name): soundfile.read(words / label / name, dtype="float32", always_2d=True)[0]
        for label in ("no", "yes")
        for name in FORMS
    }


def check_equal(records, expected, tolerance):
    """Every record is one of the expected sounds of its class, and every one is there."""
    left = dict(expected)
    for record in records:
        sound, label = record["audio"], ("no", "yes")[record["label"]]
        (found,) = [
            key
            for key, samples in left.items()
            if key[0] == label
            and samples.shape == sound.shape
            and np.abs(samples - sound).max() <= tolerance
        ]
        del left[found]
    assert left == {}


def test_sounds_are_stored_as_they_are(words, tmp_path, capsys):
    feature, records = records_of(words, tmp_path, capsys)
    assert (feature.format, feature.sample_rate, feature.shape[1]) == ("mixed", RATE, 2)
    check_equal(records, sources(words), tolerance=0)


def test_several_sample_rates_are_counted(tmp_path, capsys):
    for number, rate in enumerate([8000, 44100, 8000]):
        for label in ("no", "yes"):
            path = tmp_path / "words" / label / f"{number}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, np.full(100 + number, 0.5), rate)
    arguments = ["build", str(tmp_path / "words"), "--output", str(tmp_path / "data")]
    assert commands.main([*arguments, "--duplicates", "keep"]) == 0
    output = capsys.readouterr()
    assert "audio has several sample rates: 8000 Hz (4), 44100 Hz (2)" in output.out + output.err
    metadata = beam_pipeline.open(output.out.split()[-1]).metadata
    assert metadata["sample_rates"] == {"audio": [[8000, 4], [44100, 2]]}

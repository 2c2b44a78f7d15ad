"""Notes of `plan` about ambiguous values."""

import json

import numpy as np
import pytest
import soundfile
from PIL import Image

from beam_pipeline.cli import commands


def landmarks(root, write_image):
    write_image(root / "face.jpg", size=(64, 48))
    shapes = [{"shape_type": "point", "label": "left eye", "points": [[20, 12]]}]
    (root / "face.json").write_text(json.dumps({"shapes": shapes}))


def sample_rates(root, write_image):
    for number, rate in enumerate([8000, 44100, 8000]):
        for label in ("no", "yes"):
            (root / label).mkdir(exist_ok=True)
            samples = np.full(100 + number + 10 * (label == "no"), 0.5)
            soundfile.write(root / label / f"{number}.wav", samples, rate)


def deep_images(root, write_image):
    for number in range(2):
        (root / "ab"[number]).mkdir()
        pixels = np.full((8, 12), 16_001 * number, np.uint16)
        Image.fromarray(pixels).save(root / "ab"[number] / f"{number}.tif")
    write_image(root / "a/2.jpg")


@pytest.mark.parametrize(
    ("make", "note"),
    [
        (landmarks, "set points: landmarks in a recipe"),
        (sample_rates, "8000 Hz (4), 44100 Hz (2); pass --audio-sample-rate 16000 to resample it"),
        (deep_images, "2 images with 16 bits, of which readers take the upper 8"),
    ],
)
def test_a_note(tmp_path, write_image, capsys, make, note):
    make(tmp_path, write_image)
    assert commands.main(["plan", str(tmp_path)]) == 0
    assert note in "".join(capsys.readouterr())

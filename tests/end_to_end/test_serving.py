"""docs/serving.md, run as written: plain TensorFlow calls a SavedModel."""

import json
import re
from pathlib import Path

import keras
import pytest
from end_to_end import pages
from PIL import ExifTags, Image

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs/serving.md").read_text()


@pytest.mark.nightly
def test_the_page_runs_and_says_what_predict_says(tmp_path):
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    blocks = pages.fences(_PAGE)
    for language, block in blocks:
        if language == "bash" and "not run here" not in block:
            for words in pages.commands(block):
                done = pages.run(words, tmp_path)
                if words[0] == "saved_model_cli":
                    assert "inputs['image'] tensor_info" in done.stdout
                    assert "outputs['prediction'] tensor_info" in done.stdout
    code, of_runtimes = (code for language, code in blocks if language == "python")
    image = re.search(r'read_file\("(.*?)"\)', code)[1]
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    Image.open(tmp_path / image).save(tmp_path / "turned.jpg", exif=exif, quality=95)
    predict = ["beam-tfrecords-train", "predict", image, "turned.jpg", "--run", "runs/cells"]
    rows = [json.loads(line) for line in pages.run(predict, tmp_path).stdout.splitlines()]
    # Pillow, which rotates the photograph, and TensorFlow decode slightly differently.
    for row, asked, tolerance in zip(rows, (image, "turned.jpg"), (1e-5, 0.01), strict=True):
        printed = pages.run(["python", "-c", code.replace(image, asked)], tmp_path).stdout
        name, probability = printed.split()
        assert name == row["prediction"]
        assert float(probability) == pytest.approx(row["probability"], abs=tolerance)
    loaded = keras.models.load_model(tmp_path / "served/cells.keras", compile=False)
    assert loaded.output_shape == (None, 3)
    printed = pages.run(["python", "-c", of_runtimes], tmp_path).stdout
    shares = [float(each) for each in re.findall(r"\d\.[\de.-]+", printed)]
    expected = [*rows[0]["probabilities"].values()]
    assert shares[:3] == pytest.approx(expected, abs=1e-4)
    assert shares[3:] == pytest.approx(expected, abs=1e-4)

"""docs/serving.md, run as written: a SavedModel that plain TensorFlow asks."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import keras
import pytest
from PIL import ExifTags, Image

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs/serving.md").read_text()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", _PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.nightly
def test_the_page_runs_and_says_what_predict_says(tmp_path, command):
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    for block in _blocks("bash"):
        if "not run here" in block:
            continue
        for line in block.splitlines():
            words = shlex.split(line)
            if words[:2] == ["python", "-m"]:
                done = command(*words[2:], cwd=tmp_path)
            else:
                tool = str(Path(sys.executable).with_name(words[0]))
                done = subprocess.run(
                    [tool, *words[1:]], cwd=tmp_path, capture_output=True, text=True
                )
            assert done.returncode == 0, (line, done.stderr)
            if "saved_model_cli" in line:
                assert "inputs['image'] tensor_info" in done.stdout
                assert "outputs['prediction'] tensor_info" in done.stdout
    code, *runtimes = _blocks("python")
    image = re.search(r'read_file\("(.*?)"\)', code)[1]
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    Image.open(tmp_path / image).save(tmp_path / "turned.jpg", exif=exif, quality=95)
    predicted = command(
        *("trainer", "predict", image, "turned.jpg", "--run", "runs/cells"), cwd=tmp_path
    )
    rows = [json.loads(line) for line in predicted.stdout.splitlines()]
    # Pillow's decoder and TensorFlow's differ a little, of which one turns the photograph.
    for row, asked, tolerance in zip(rows, (image, "turned.jpg"), (1e-5, 0.01), strict=True):
        served = subprocess.run(
            [sys.executable, "-c", code.replace(image, asked)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert served.returncode == 0, served.stderr
        name, probability = served.stdout.split()
        assert name == row["prediction"]
        assert float(probability) == pytest.approx(row["probability"], abs=tolerance)
    loaded = keras.models.load_model(tmp_path / "served/cells.keras", compile=False)
    assert loaded.output_shape == (None, 3)
    printed = [
        subprocess.check_output([sys.executable, "-c", each], cwd=tmp_path, text=True)
        for each in runtimes
    ]
    shares = [[float(each) for each in re.findall(r"\d\.[\de.-]+", text)] for text in printed]
    assert len(shares[0]) == 3
    assert shares[1] == pytest.approx(shares[0], abs=1e-4)

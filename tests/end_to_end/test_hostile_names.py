"""Foreign names cannot control a terminal: files, folders, classes, columns, splits, options."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tiers import first_in_ci

from beam_pipeline.cli import commands
from tfrecord_dataset import standard_streams
from tfrecord_dataset.json_file import sealed

# Clears the screen, sets the window's title, has 8-bit codes, writes right to left, forges a line.
EVIL = "e\x1b[2J\x1b]0;n\x07\x9b31m\u202e\r\nerror: x"
CONTROL = re.compile("[^\n\t\x20-\x7e\xa0-\u200d\u2010-\u2027\u202f-\u2065\u206a-\U0010ffff]")


@pytest.fixture
def run(monkeypatch, capfd):
    """run(*arguments) -> exit code and output; checks that it is printable."""

    def run(*arguments):
        with monkeypatch.context() as patched:
            for name in ("stdout", "stderr"):
                patched.setattr(sys, name, getattr(sys, name))
            standard_streams.guard()
            code = commands.main([*map(str, arguments)])
        return code, checked(*capfd.readouterr())

    return run


def checked(stdout, stderr):
    """Join both, and check that they are printable."""
    text = stdout + stderr
    assert not (found := CONTROL.findall(text)), (found, text)
    assert "\nerror: x" not in stderr, text
    return text


def class_folders(root, write_image, class_name="cat"):
    write_image(root / class_name / f"{EVIL}.png", seed=1)
    write_image(root / class_name / "good.png", seed=2)
    write_image(root / "dog" / "good.png", seed=3)
    (root / "dog" / f"{EVIL}.jpg").write_bytes(b"no image")
    return root


def csv(root, write_image):
    cell = f'"{EVIL}"'
    write_image(root / "good.png")
    (root / "rows.csv").write_text(
        f"image,{cell},label,split,other\n"
        f"good.png,1,a,train,{cell}\n{cell},2,{cell},{cell},\n/{cell},x,\n",
        newline="",
    )
    return root


def coco(root, write_image):
    write_image(root / "good.png")
    value = {
        "images": [{"id": 1, "file_name": "good.png"}, {"id": EVIL, "file_name": EVIL}],
        "categories": [{"id": 1, "name": EVIL}],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2], EVIL: 1},
            {"id": EVIL, "image_id": EVIL, "category_id": 1, "bbox": [EVIL]},
        ],
    }
    (root / "x.json").write_text(json.dumps(value))
    return root


def voc(root, write_image):
    write_image(root / "JPEGImages/good.png")
    (root / "Annotations").mkdir()
    name = "e&#x9b;31m&#x202e;&#10;error: x"
    for stem in ("good", EVIL):
        (root / f"Annotations/{stem}.xml").write_text(
            f"<annotation><filename>{name}</filename><object><name>{name}</name><bndbox>"
            "<xmin>1</xmin><ymin>1</ymin><xmax>3</xmax><ymax>3</ymax></bndbox></object>"
            "</annotation>"
        )
    return root


ALL = ("--max-bad-fraction", "1")
LAYOUTS = (class_folders, csv, coco, voc)


@pytest.mark.parametrize("layout", first_in_ci(LAYOUTS))
def test_plan_and_build(layout, run, tmp_path, write_image):
    root = tmp_path / EVIL
    root.mkdir()
    layout(root, write_image)
    output = ["--output", tmp_path / "out", "--name", "x"]
    for more in (["plan", root, "--debug"], ["build", root], ["build", root, *ALL]):
        code, text = run(*more, *output)
        assert code in (0, 2, 3), text
        assert "Traceback" not in text or "--debug" in more


def test_a_class_with_a_line_end_shifts_no_other(run, tmp_path, write_image):
    root = class_folders(tmp_path / "in", write_image, class_name="a\nb")
    code, text = run("build", root, "--output", tmp_path / "out", *ALL)
    assert code == 3, text
    assert r"the class of 'label' 'a\nb' has a line end or another control" in text
    assert not list((tmp_path / "out").rglob("*.tfrecord*"))


@pytest.fixture
def dataset(labelled, tmp_path):
    """A dataset whose metadata.json has hostile names and a correct checksum."""
    source = Path(labelled.path)
    root = tmp_path / "hostile"
    root.mkdir()
    metadata = json.loads((source / "metadata.json").read_text())
    del metadata["checksum"]
    metadata["name"] = metadata["version"] = EVIL
    metadata["classes"] = [EVIL, "dog"]
    for feature in metadata["features"]:
        if feature["name"] == "label":
            feature |= {"name": EVIL, "classes": [EVIL, "dog"]}
    metadata["splits"] = {
        f"../{EVIL}{number}": split for number, split in enumerate(metadata["splits"].values())
    }
    for split in metadata["splits"].values():
        for shard in split["shards"]:
            (root / f"{EVIL}{shard['file']}").write_bytes((source / shard["file"]).read_bytes())
            shard["file"] = f"{EVIL}{shard['file']}"
    (root / "metadata.json").write_text(sealed(metadata), newline="")
    return root


def test_verify_and_show(dataset, run, tmp_path):
    assert run("verify", dataset)[0] == 3
    code, text = run("show", dataset, "--images", tmp_path / "drawn")
    assert code == 0, text
    drawn = [path.name for path in tmp_path.glob("drawn/*")]
    assert len(drawn) == 6
    assert all(re.fullmatch(r"[\w. -]+\.jpg", name) for name in drawn)
    assert run("show", dataset, "--split", EVIL)[0] == 2
    assert run("adopt", dataset)[0] == 2
    assert run("adopt", dataset, "--overwrite")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["build", EVIL, "--output", "x"], id="input"),
        pytest.param(["build", "x", "--output", EVIL], id="output"),
        pytest.param(["build", "examples", "--output", "x", "--name", EVIL], id="name"),
        pytest.param(["plan", "x", "--layout", EVIL], id="choice"),
        pytest.param(["plan", "x", f"--{EVIL}"], id="option"),
        pytest.param(["plan", "x", "--runner", EVIL], id="option of Beam's"),
        pytest.param(["plan", "x", "--schema", EVIL], id="file"),
        pytest.param(["plan", "x", "--seed", EVIL], id="number"),
        pytest.param([EVIL], id="command"),
        pytest.param(["verify", EVIL], id="dataset"),
    ],
)
def test_options(run, arguments):
    for more in ([], ["--debug"]):
        assert run(*arguments, *more)[0] == 2


@pytest.mark.slow
def test_bars_on_a_terminal(tmp_path, write_image):
    """The only control codes are those of the bars: to the line's beginning, and a line up."""
    root = class_folders(tmp_path / "in", write_image)
    command = ["build", root, "--output", tmp_path / "out", *ALL]
    reading, writing = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "beam_pipeline", *map(str, command)], stdout=writing, stderr=writing
    ) as process:
        os.close(writing)
        written = b""
        while data := _read(reading):
            written += data
    assert process.returncode == 0, written
    text = written.decode().replace("\r\n", "\n").replace("\x1b[A", "").replace("\r", "")
    assert "reading" in text
    assert not CONTROL.findall(text)


def _read(descriptor):
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # the other end is closed
        return b""

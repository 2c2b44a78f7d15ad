"""Bad, hostile or ambiguous data is refused, left out, or noted by name."""

import json
import random
import shlex
import shutil

import numpy as np
import pytest
import soundfile
from file_bytes import zip_bytes
from hostile_files import jpeg_of_scans
from PIL import Image

import beam_pipeline
from beam_pipeline import open as open_dataset
from beam_pipeline.cli import commands
from beam_pipeline.errors import MostlyBadError

BAD = {
    f"cat/{name}"
    for name in ("truncated.jpg", "empty.jpg", "text.jpg", "noise.png", "garbled.jpg", "header.jpg")
}


def rejects_of(directory):
    lines = (directory / "rejects.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def run(capsys, *arguments):
    code = commands.main([*map(str, arguments), "--threads", "1"])
    return code, capsys.readouterr()


def truncate(path, by):
    path.write_bytes(path.read_bytes()[:-by])


@pytest.fixture(scope="session")
def bad_folders(tmp_path_factory, class_folders):
    """16 good images, 6 bad files, and 2 that are not data."""
    root = class_folders(tmp_path_factory.mktemp("bad") / "pets")
    cat = root / "cat"
    shutil.copy(cat / "000.jpg", cat / "truncated.jpg")
    truncate(cat / "truncated.jpg", 60)
    (cat / "empty.jpg").write_bytes(b"")
    (cat / "text.jpg").write_text("no image at all")
    (cat / "noise.png").write_bytes(random.Random(0).randbytes(2000))
    data = bytearray((cat / "002.jpg").read_bytes())
    data[300:] = random.Random(0).randbytes(len(data) - 300)
    (cat / "garbled.jpg").write_bytes(data)
    (cat / "header.jpg").write_bytes((cat / "000.jpg").read_bytes()[:20])
    (root / "README.txt").write_text("read me")
    (cat / "notes.txt").write_text("notes")
    return root


def test_bad_files_fail_the_build_and_are_listed(bad_folders, tmp_path, capsys):
    code, shown = run(capsys, "build", bad_folders, "--output", tmp_path)
    directory = tmp_path / "pets/1.0.0"

    assert code == 3
    assert shown.out == ""
    assert "6 of 22 records invalid" in shown.err
    assert "rejects.jsonl" in shown.err
    assert not (directory / "metadata.json").exists()
    assert [path.name for path in directory.iterdir()] == ["rejects.jsonl"]

    rejects = rejects_of(directory)
    sources = [reject["source"] for reject in rejects]
    assert sorted(sources) == sorted({*BAD, "README.txt", "cat/notes.txt"})
    assert all(reject.keys() == {"source", "reason", "detail"} for reject in rejects)
    assert all(reject["reason"] and reject["detail"] for reject in rejects)
    reasons = {reject["source"]: reject["reason"] for reject in rejects}
    assert reasons["cat/empty.jpg"] == "empty file"
    assert reasons["cat/truncated.jpg"] == "truncated image"
    assert reasons["README.txt"] == "not a data file"
    assert reasons["cat/notes.txt"] == "data not read"


def test_allowed_they_are_left_out_and_counted(bad_folders, tmp_path, capsys):
    code, shown = run(
        capsys, "build", bad_folders, "--output", tmp_path, "--max-bad-fraction", "0.3"
    )
    info = open_dataset(shown.out.strip())

    assert code == 0
    assert info.num_records("train") == 16
    rejected = info.metadata["rejected"]
    assert sum(rejected.values()) == len(rejects_of(tmp_path / "pets/1.0.0")) == 8
    assert rejected["not a data file"] == rejected["data not read"] == 1
    assert "warning: 1 file not read that may hold data (1 .txt, see rejects.jsonl);" in shown.err
    in_folder = sum(path.is_file() for path in bad_folders.rglob("*"))
    assert in_folder == info.num_records("train") + sum(rejected.values())


def test_files_that_are_not_read_are_counted_by_suffix(tmp_path, class_folders, capsys):
    root = class_folders(tmp_path / "pets", each=4)
    for name in ("cat/1.svg", "cat/2.SVG", "dog/1.tga", "dog/table.1", "README.md"):
        (root / name).touch()
    line = "warning: 4 files not read that may hold data (2 .svg, 1 .tga, 1 others, "
    code, shown = run(capsys, "plan", root)
    assert code == 0
    assert f"{line}such as cat/1.svg); exclude such files with --ignore" in shown.out
    code, shown = run(capsys, "build", root, "--output", tmp_path / "out")
    assert code == 0
    assert f"{line}see rejects.jsonl); exclude such files with --ignore" in shown.err


def test_archives_that_are_not_read_may_be_unpacked(tmp_path, capsys):
    (tmp_path / "ids.csv").write_text("id,label\na,cat\nb,dog\n")
    (tmp_path / "images.zip").touch()
    code, shown = run(capsys, "plan", tmp_path)
    assert code == 0
    assert "1 .zip, such as images.zip); unpack archives of the data, or exclude" in shown.out


def test_more_files_that_are_not_read_than_records_are_a_question(tmp_path, class_folders, capsys):
    root = class_folders(tmp_path / "pets", each=2)
    for number in range(5):
        (root / "cat" / f"scan {number}.mat").touch()
    output = tmp_path / "out"
    code, shown = run(capsys, "build", root, "--output", output)
    assert code == 2
    assert "5 files that may hold data, such as cat/scan 0.mat, would not be read" in shown.err
    assert not output.exists() or not list(output.rglob("*.*"))
    _, _, remedy = shown.err.partition("pass ")
    words = shlex.split(remedy.partition(" to leave")[0])
    assert words == ["--ignore", "*.mat"]
    code, shown = run(capsys, "build", root, "--output", output, *words)
    assert code == 0
    assert "warning" not in shown.err


def test_mostly_bad_records_name_the_layout_that_reads_the_input(tmp_path, write_image, capsys):
    root = tmp_path / "pets"
    rows = ["id,breed"]
    for number in range(12):
        breed = ("cat", "dog")[number % 2]
        rows.append(f"p{number:03},{breed}")
        if number < 8:
            write_image(root / breed / f"p{number:03}.jpg", seed=number)
    (root / "train.csv").write_text("\n".join(rows))
    code, shown = run(capsys, "plan", root)
    assert code == 3
    assert "4 of 12 records invalid" in shown.err
    assert "max-bad-fraction" not in shown.err
    _, _, remedy = shown.err.partition("Fix them, or pass ")
    assert remedy.strip() == "--layout folders to read 2 class folders (cat, dog), 8 images"
    with pytest.raises(MostlyBadError, match="or pass --layout folders to read 2 class folders"):
        beam_pipeline.build(input=str(root), output=str(tmp_path / "out"))
    code, shown = run(capsys, "plan", root, *shlex.split(remedy.partition(" to ")[0]))
    assert code == 0
    assert "train: 8 records" in shown.out


def test_a_table_of_ids_is_read_before_images_without_classes(tmp_path, write_image, capsys):
    root = tmp_path / "pets"
    for number in range(3):
        write_image(root / "images" / f"p{number:03}.jpg", seed=number)
    rows = ["id,breed", *(f"p{number:03},cat" for number in range(9))]
    (root / "train.csv").write_text("\n".join(rows))
    code, shown = run(capsys, "plan", root)
    assert code == 3
    assert "layout: csv" in shown.err
    assert "6 of 9 records invalid" in shown.err
    assert "--layout folders to read 3 images without class folders" in shown.err


def test_what_is_in_two_splits_stops_a_build_before_it_writes(class_folders, tmp_path, capsys):
    for split in ("train", "val"):
        class_folders(tmp_path / "pets" / split, each=3)
    code, shown = run(capsys, "build", tmp_path / "pets", "--output", tmp_path / "out")
    assert code == 3
    assert "train/cat/000.jpg (train) and val/cat/000.jpg (val)" in shown.err
    assert not list((tmp_path / "out").rglob("*.*rec*"))


@pytest.mark.slow
def test_rejects_do_not_tell_where_the_input_lay(tmp_path, write_image, digests, capsys):
    found = []
    for place in ("one", "another"):
        root = tmp_path / place / "pets"
        write_image(root / "a.jpg")
        (root / "folder.jpg").mkdir()
        rows = "file_name,label\na.jpg,cat\nmissing.jpg,dog\nfolder.jpg,dog\n"
        (root / "labels.csv").write_text(rows)
        output = tmp_path / f"out of {place}"
        run(capsys, "build", root, "--output", output, "--max-bad-fraction", "0.7")
        found.append(digests(output))
        for path in output.rglob("*.json*"):
            assert path.name == "build.json" or str(tmp_path) not in path.read_text()
    assert found[0] == found[1]
    rejects = rejects_of(output / "pets/1.0.0")
    assert [reject["reason"] for reject in rejects] == ["missing file", "unreadable file"]
    assert "missing.jpg" in rejects[0]["detail"]


@pytest.mark.slow
def test_names_that_are_not_utf8(tmp_path, class_folders, command):
    """Examples and Parquet cannot store such a name, but the build must not fail."""
    root = class_folders(tmp_path / "pets", each=4)
    (root / "cat/000.jpg").rename(root / "cat/caf\udce9.jpg")
    (root / "d\udce9r").mkdir()
    (root / "dog/001.jpg").rename(root / "d\udce9r/001.jpg")
    output = tmp_path / "out"
    # As a process, since its output must contain such names as well.
    done = command("beam_pipeline", "build", root, "--output", output, "--max-bad-fraction", "0.5")
    assert done.returncode == 0, done.stderr
    assert [reject["reason"] for reject in rejects_of(output / "pets/1.0.0")] == ["not UTF-8"] * 2
    assert open_dataset(done.stdout.strip()).num_records("train") == 6


@pytest.mark.slow
@pytest.mark.parametrize("threads", [(), ("--threads", "2")], ids=["processes", "threads"])
def test_a_slow_image_costs_only_itself(class_folders, command, tmp_path, threads):
    source = class_folders(tmp_path / "in", each=300)
    (source / "cat/000slow.jpg").write_bytes(jpeg_of_scans(85))
    recipe = tmp_path / "impatient.yaml"
    recipe.write_text("input: in\nname: d\nmax_record_seconds: 0.1\n")
    options = ("--output", tmp_path / "out", "--max-bad-fraction", "0.5", "--num-shards", "2")
    done = command("beam_pipeline", "build", recipe, *options, *threads)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = (tmp_path / "out/d/1.0.0/rejects.jsonl").read_text().splitlines()
    reject = json.loads(line)
    assert (reject["source"], reject["reason"]) == ("cat/000slow.jpg", "took too long")
    metadata = json.loads((tmp_path / "out/d/1.0.0/metadata.json").read_text())
    assert metadata["splits"]["train"]["num_records"] == 600


@pytest.mark.nightly
def test_a_zip_of_300_000_empty_members_is_refused_by_name(command, tmp_path):
    (tmp_path / "x.zip").write_bytes(zip_bytes({f"a/{n}.jpg": b"" for n in range(300_000)}))
    options = ("--one-class", "--output", tmp_path / "out")
    done = command("beam_pipeline", "build", tmp_path / "x.zip", *options)
    assert done.returncode == 3, done.stderr
    assert "300000 of 300000 records invalid (limit: 0); first: a/0.jpg: empty" in done.stderr


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

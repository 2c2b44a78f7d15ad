"""Foreign annotations cannot get a local file into a dataset, or cause a request."""

import json
import shutil

import pytest
from end_to_end.building import build
from tiers import first_in_ci

from beam_pipeline.cli import commands
from beam_pipeline.errors import ConfigError

OUTSIDE = "file outside the input"


@pytest.fixture
def secret(tmp_path, write_image):
    """An image outside the inputs."""
    return write_image(tmp_path / "home/secret.png", seed=99)


@pytest.fixture
def tree(tmp_path, write_image):
    """tree(texts) -> an input with these files and the image "images/good.png"."""

    def write(texts):
        root = tmp_path / "in"
        write_image(root / "images/good.png", seed=1)
        for name, text in texts.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return root

    return write


@pytest.fixture(params=first_in_ci(["absolute", "http URL"]))
def name(request, secret, bucket):
    """A name of the secret in an annotation, which would be read in the user's own input."""
    url, store = bucket
    store.put(f"{url}/secret.png", secret.read_bytes())
    return {
        "absolute": str(secret),
        "upwards": "../home/secret.png",
        "file URL": secret.as_uri(),
        "http URL": f"{store.endpoint}/{url.removeprefix('s3://')}/secret.png",
        "s3 URL": f"{url}/secret.png",
    }[request.param]


def csv(names):
    return {"labels.csv": "".join(["image,camera\n", *(f"{name},a\n" for name in names)])}


def coco(names):
    images = [{"id": number, "file_name": name} for number, name in enumerate(names)]
    return {"instances.json": json.dumps({"images": images, "annotations": [], "categories": []})}


@pytest.mark.parametrize(
    ("annotate", "name"),
    first_in_ci(
        [
            *((csv, each) for each in ("absolute", "http URL", "upwards", "file URL", "s3 URL")),
            (coco, "upwards"),
        ]
    ),
    indirect=["name"],
)
def test_files_that_rows_name_outside_are_rejects(
    tree, tmp_path, secret, bucket, name, annotate, capsys
):
    root = tree(annotate(["images/good.png", name]))
    command = ["build", str(root), "--output", str(tmp_path / "out"), "--max-bad-fraction", "0.5"]
    assert commands.main(command) == 0, capsys.readouterr().err
    (dataset,) = (tmp_path / "out/in").iterdir()
    (reject,) = (json.loads(line) for line in (dataset / "rejects.jsonl").read_text().splitlines())
    assert reject["reason"] == OUTSIDE
    assert "pass --allow-outside " in reject["detail"]
    pixels = secret.read_bytes()[33:]  # after the header, which is equal for all PNGs of this size
    files = [path.read_bytes() for path in dataset.rglob("*") if path.is_file()]
    assert not any(pixels in data for data in files)
    assert bucket[1].requests == []

    folder = reject["detail"].rpartition("--allow-outside ")[2]
    assert commands.main([*command, "--overwrite", "--allow-outside", folder]) == 0
    assert json.loads((dataset / "metadata.json").read_text())["rejected"] == {}
    assert any(pixels in path.read_bytes() for path in dataset.glob("*.tfrecord*"))


def test_a_column_of_files_outside_stops_the_build_at_once(tree, tmp_path, bucket, name, capsys):
    root = tree(csv([name, name]))
    assert commands.main(["build", str(root), "--output", str(tmp_path / "out")]) == 2
    assert "outside of" in (printed := capsys.readouterr().err)
    assert "pass --allow-outside " in printed
    assert not list((tmp_path / "out").glob("*"))
    assert bucket[1].requests == []


YOLO = {"labels/good.txt": "0 0.5 0.5 0.2 0.2\n"}


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param({"data.yaml": "train: {folder}\nnames: [a]\n"}, id="a split"),
        pytest.param({"data.yaml": "path: {folder}\ntrain: train\nnames: [a]\n"}, id="path"),
        pytest.param({"data.yaml": "train: {file}.txt\nnames: [a]\n"}, id="a list"),
    ],
)
def test_yolo_reads_no_folder_or_list_outside(tree, tmp_path, secret, bucket, name, texts):
    secret.with_name("secret.png.txt").write_text("images/good.png\n")
    folder = name.rpartition("/")[0]
    root = tree({key: text.format(folder=folder, file=name) for key, text in texts.items()} | YOLO)
    with pytest.raises(ConfigError, match=r"outside of .*pass --allow-outside "):
        build(root, tmp_path / "out", layout="yolo")
    assert bucket[1].requests == []


def test_annotations_name_only_images_of_the_input(tree, tmp_path, bucket, name):
    """Lists of YOLO, and files of VOC."""
    stated = f"<filename>{name}</filename><path>{name}</path><folder>{name}</folder>"
    voc = {
        f"Annotations/{stem}.xml": f"<annotation>{stated}</annotation>" for stem in ("good", "bad")
    }
    yolo = {"data.yaml": "train: list.txt\nnames: [a]\n", **YOLO}
    yolo["list.txt"] = f"images/good.png\n{name}\n"
    for texts, reason in ((yolo, "missing file"), (voc, "missing image")):
        root = tree(texts)
        if texts is voc:
            shutil.rmtree(root / "labels")
            for file in ("data.yaml", "list.txt"):
                (root / file).unlink()
            (root / "images").rename(root / "JPEGImages")
        info = build(root, tmp_path / reason, max_bad_fraction=0.5)
        assert info.metadata["rejected"] == {reason: 1}
    assert bucket[1].requests == []

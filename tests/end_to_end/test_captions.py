"""Flickr8k's files become images with captions, which every reader finds."""

import json
from pathlib import Path

import pytest

import beam_pipeline
import trainer

# TFDS 4.9 calls what protobuf 6 warns of.
pytestmark = pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")

CAPTIONS = {
    "1000268201_693b08cb0e.jpg": ["A child in a pink dress .", "A girl going in .", "Ein Mädchen"],
    "1001773457_577c3a7d70.jpg": ["Two dogs ."],
    "997722733_0cb5439472.jpg": ["A man climbs .", 'A "rock" , snowy'],
}
SPLITS = ("train", "test")
TEST = "1001773457_577c3a7d70.jpg"


@pytest.fixture(scope="module")
def info(tmp_path_factory, write_image):
    root = tmp_path_factory.mktemp("captions") / "flickr8k"
    for number, name in enumerate(CAPTIONS):
        write_image(root / "Flicker8k_Dataset" / name, seed=number)
    texts = root / "Flickr8k_text"
    texts.mkdir()
    lines = [
        f"{name}#{number}\t{caption}\n"
        for name, captions in CAPTIONS.items()
        for number, caption in enumerate(captions)
    ]
    (texts / "Flickr8k.token.txt").write_text("".join(lines), "utf-8")
    (texts / "Flickr_8k.testImages.txt").write_text(f"{TEST}\n")
    train = [name for name in CAPTIONS if name != TEST]
    (texts / "Flickr_8k.trainImages.txt").write_text("\n".join(train))
    config = beam_pipeline.BuildConfig(
        input=str(root),
        output=str(root.parent / "data"),
        split_list=tuple(f"{split}={texts}/Flickr_8k.{split}Images.txt" for split in SPLITS),
    )
    return beam_pipeline.build(config)


def test_the_schema_and_the_splits(info):
    captions = {each.name: each for each in info.schema}["captions"]
    assert (captions.kind, captions.key) == ("sequence", "image/caption")
    assert {name: info.num_records(name) for name in info.splits} == {
        "test": 1,
        "train": 2,
    }
    features = json.loads(Path(info.path, "features.json").read_text())
    assert "image/caption" in features["featuresDict"]["features"]


def test_captions_are_a_list_of_any_length(info, readers_agree, capsys):
    readers_agree(info)
    assert "Ein Mädchen" in capsys.readouterr().out
    seen = trainer.open(info.path)
    [batch] = seen.batches("train", batch_size=2, features=["captions"])
    captions = {tuple(filter(None, row)) for row in batch["captions"].numpy().tolist()}
    assert batch["captions"].shape == (2, 3)
    train = [CAPTIONS[name] for name in CAPTIONS if name != TEST]
    assert captions == {tuple(text.encode() for text in texts) for texts in train}

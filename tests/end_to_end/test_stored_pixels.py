"""Images stored as BMP: what each reader makes of them."""

import io

import numpy as np
import pytest
from PIL import Image

import beam_pipeline
import tfrecord_dataset
import trainer
from beam_pipeline.dataset.reading import read_examples
from trainer.views import Views

# TFDS 4.9 calls what protobuf 6 warns of.
pytestmark = pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")

CROPS = Views(area=(0.3, 0.8), mirror=True)


@pytest.fixture(scope="module")
def source(tmp_path_factory, class_folders, write_image):
    """JPEGs, one of them grey, and PNGs with alpha."""
    root = class_folders(tmp_path_factory.mktemp("pixels") / "pets")
    for name, mode in (("dog/grey.jpg", "L"), ("cat/clear.png", "RGBA"), ("dog/both.png", "LA")):
        path = write_image(root / name, seed=len(name))
        with Image.open(path) as image:
            changed = image.convert(mode)
        if mode.endswith("A"):
            changed.putalpha(100)
        changed.save(path)
    return root


@pytest.fixture(scope="module")
def built(source, tmp_path_factory):
    """built(format) -> the dataset of the images in that format."""
    made = {}

    def build(form, **options):
        if (form, *options) not in made:
            config = beam_pipeline.BuildConfig(
                input=str(source),
                output=str(tmp_path_factory.mktemp("data")),
                image=beam_pipeline.ImageOptions(format=form),
                **options,
            )
            made[form, *options] = beam_pipeline.build(config)
        return made[form, *options]

    return build


def decoded(info):
    """The images as Pillow sees them."""
    encoded = [example["image/encoded"][0] for example in read_examples(info, "train")]
    return [np.asarray(Image.open(io.BytesIO(each)).convert("RGB")) for each in encoded]


def test_readers_agree(built, readers_agree):
    info = built("bmp")
    (image,) = (each for each in info.schema if each.kind == "image")
    assert image.format == "bmp"
    stated = [example["image/format"][0] for example in read_examples(info, "train")]
    assert {*stated} == {b"bmp"}
    assert len(stated) == 19
    readers_agree(info)
    for pixels, record in zip(
        decoded(info), tfrecord_dataset.open(info.path)["train"], strict=True
    ):
        np.testing.assert_array_equal(record["image"], pixels)


@pytest.mark.slow
@pytest.mark.parametrize("views", [None, CROPS], ids=["whole", "crops"])
def test_batches_are_those_of_png(built, views):
    """The same pixels in the same order, at a size to which they are scaled."""
    seen = []
    for form in ("png", "bmp"):
        batches = trainer.open(built(form).path).batches(
            batch_size=6, image_size=(7, 8), shuffle=True, seed=5, views=views, features=["image"]
        )
        seen.append(np.concatenate([batch["image"] for batch in batches]))
    pngs, bmps = seen
    assert len(pngs) == 19
    with_alpha = 2  # of PNGs TensorFlow drops it
    assert sum((png == bmp).all() for png, bmp in zip(pngs, bmps, strict=True)) == 19 - with_alpha


def test_one_channel_is_made_of_three(built):
    info = built("bmp")
    grey = [{"name": "image", "kind": "image", "shape": [None, None, 1]}]
    shards = trainer.open(f"{info.path}/*train.tfrecord-*", grey)
    batches = shards.batches(batch_size=None, image_dtype="uint8", features=["image"])
    for image, pixels in zip(batches, decoded(info), strict=True):
        expected = pixels @ [0.299, 0.587, 0.114]
        np.testing.assert_allclose(image["image"][..., 0], expected, atol=1)

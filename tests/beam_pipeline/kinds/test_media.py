"""Maps with their image: turned and scaled with it, and their classes."""

import numpy as np
import pytest
from file_bytes import exif_of, image_bytes
from inspecting import inspect_record, observe

from beam_pipeline import kinds
from beam_pipeline.errors import DataError
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.media.images import ImageOptions
from beam_pipeline.media.maps import read_numbers
from beam_pipeline.records import FileRef, Image, Map, Record
from beam_pipeline.schema.inference import infer
from tfrecord_dataset.image_size import ImageSize

HEIGHT, WIDTH = 4, 8
IN_FILE = np.arange(HEIGHT * WIDTH, dtype=np.uint8).reshape(HEIGHT, WIDTH)


def encoded(pixels, file_format, orientation=1):
    return image_bytes(pixels, file_format, exif=exif_of(orientation))


@pytest.fixture
def inspect(tmp_path):
    """inspect(numbers) -> (checked map, stored bytes)."""

    def run(numbers, *, orientation=1, image=(HEIGHT, WIDTH), rules=None, **stated):
        photo = encoded(np.zeros((*image, 3), np.uint8), "JPEG", orientation)
        data = encoded(numbers, "PNG")
        (tmp_path / "a.jpg").write_bytes(photo)
        (tmp_path / "a.png").write_bytes(data)
        # The map comes first: it waits for its image.
        features = {
            "segmentation": Map(file=FileRef(path=str(tmp_path / "a.png")), **stated),
            "image": Image(file=FileRef(path=str(tmp_path / "a.jpg"))),
        }
        rules = rules or Rules()
        record = inspect_record(Record(key="a", features=features), rules)
        value = record.features["segmentation"]
        stored = kinds.of(value).payload(value, data, rules)
        return record, read_numbers(stored, 1000)

    return run


def upright(numbers, orientation):
    """Turn an array like viewers do, by EXIF's definition of each orientation."""
    turns = {5: numbers.T, 6: np.rot90(numbers, -1), 7: numbers[::-1, ::-1].T, 8: np.rot90(numbers)}
    return turns[orientation]


@pytest.mark.parametrize("orientation", [5, 6, 7, 8])
def test_a_map_of_the_file_is_turned_with_its_image(inspect, orientation):
    record, stored = inspect(IN_FILE, orientation=orientation)
    np.testing.assert_array_equal(stored, upright(IN_FILE, orientation))
    assert record.notes["map converted: orientation"] == 1
    image, value = record.features["image"], record.features["segmentation"]
    assert (value.height, value.width) == (image.height, image.width) == stored.shape


@pytest.mark.parametrize(
    ("options", "size"),
    [({"max_side": 4}, (2, 4)), ({"size": ImageSize(8, 8)}, (8, 8)), ({"max_side": 7}, (4, 7))],
)
def test_a_map_is_scaled_with_its_image_by_the_nearest_pixel(inspect, options, size):
    record, stored = inspect(IN_FILE, rules=Rules(image=ImageOptions(**options)))
    image = record.features["image"]
    assert stored.shape == size == (image.height, image.width)
    rows, columns = np.meshgrid(*(np.arange(each) for each in size), indexing="ij")
    np.testing.assert_allclose(stored // WIDTH, rows * HEIGHT / size[0], atol=1)
    np.testing.assert_allclose(stored % WIDTH, columns * WIDTH / size[1], atol=1)
    assert record.notes["map converted: resized"] == 1


def schema(records, **declared):
    observed = observe(records)
    return infer(observed, num_records=len(records), declared=declared), observed["segmentation"]


def test_records_are_counted_by_the_classes_that_they_show(inspect):
    records = [inspect(np.full((HEIGHT, WIDTH), each, np.uint8))[0] for each in (0, 1, 1, 255)]
    (_, feature), observed = schema(records, segmentation=("sky", "road"))
    assert feature.classes == ("sky", "road")
    assert kinds.named(feature).class_counts(feature, observed) == {"sky": 1, "road": 2}


def test_maps_of_classes_and_depths_do_not_mix(inspect):
    records = [inspect(IN_FILE)[0], inspect(IN_FILE, shows="depth")[0]]
    with pytest.raises(DataError, match="must have maps of one type"):
        schema(records)

"""What was found in a batch is found again without its files, and never where anything differs."""

import dataclasses
import hashlib
import io
import os
import pickle
import zlib
from pathlib import Path

import numpy as np
import pytest
import tokenizers

from beam_pipeline.assign import columns
from beam_pipeline.assign.packing import Packer
from beam_pipeline.config import BuildConfig
from beam_pipeline.files.local import LOCAL
from beam_pipeline.inspect import kept
from beam_pipeline.inspect.batch import InspectBatch, Settings
from beam_pipeline.records import (
    Array,
    ClassLabel,
    DeclaredClasses,
    Deferred,
    FileRef,
    Image,
    Objects,
    RawFile,
    Record,
    Rejected,
)
from beam_pipeline.running.pickling import Constant, pack
from beam_pipeline.sources.tar.parts import text_of
from tfrecord_dataset.example import bytes_feature, serialize
from tfrecord_dataset.frames import framed


@pytest.fixture(autouse=True)
def every_file_is_worth_it(monkeypatch):
    monkeypatch.setattr(kept, "_LEAST_BYTES_A_FILE", 1)
    monkeypatch.setattr(kept, "_MOST_KEPT", 100)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "inspected"


@pytest.fixture
def inspect(folder):
    """inspect(elements) -> (what leaves the process, how many elements were taken)."""

    def run(elements, **options):
        config = BuildConfig(output="/nowhere", name="t", **options)
        settings = Settings(config.rules, Packer.of(config), str(folder))
        packed = InspectBatch(Constant(settings), threads=1).here(pack(elements))
        table = columns.from_bytes([packed.records] if packed.num_records else [])
        records = list(columns.records_of(table))
        routed = table.drop_columns(["record"])
        found = [*map(by_value, (records, packed.rejects, packed.statistics)), routed]
        return found, packed.num_taken

    return run


def by_value(value):
    """Equal for equal values, whichever of them are the same objects."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    pickler.fast = True
    pickler.dump(value)
    return file.getvalue()


@pytest.fixture
def reads(monkeypatch):
    """The paths that are read, but for kept batches."""
    paths = []
    read = LOCAL.read

    def counted(path, *arguments):
        if "/inspected/" not in path:
            paths.append(path)
        return read(path, *arguments)

    monkeypatch.setattr(LOCAL, "read", counted)
    return paths


@pytest.fixture
def images(tmp_path, write_image):
    """Records of images; one is damaged, one is not there, and the classes are declared."""
    paths = [str(write_image(tmp_path / f"in/{number}.png", seed=number)) for number in range(6)]
    Path(paths[4]).write_bytes(Path(paths[4]).read_bytes()[:60])
    records = [
        Record(
            key=f"{number}.png",
            features={"image": Image(file=FileRef(path=path)), "label": ClassLabel("cat")},
            group=f"group {number}",
        )
        for number, path in enumerate([*paths, str(tmp_path / "in/missing.png")])
    ]
    return [
        DeclaredClasses(feature="label", names={0: "cat"}),
        *records,
        Rejected(source="notes.txt", reason="not an image", detail="notes.txt"),
    ]


def kept_files(folder):
    return list(folder.iterdir()) if folder.exists() else []


def test_all_is_found_again_without_its_files(inspect, images, reads):
    found, taken = inspect(images)
    assert (taken, len(reads)) == (0, 7)
    assert found[-1].num_rows == 5
    reads.clear()

    assert inspect(images) == (found, len(images))
    assert reads == []


def of_images(folder, write_image):
    file = FileRef(path=str(write_image(folder / "a.jpg")))
    boxes = Objects(boxes=((1, 1, 5, 50),), labels=("cat",), attributes={"difficult": (1,)})
    features = {"image": Image(file=file), "boxes": boxes, "words": ("one", "two"), "n": 0.5}
    return [Record(key="a", features=features, split="test", source="a.csv:1", source_id="7")]


def of_arrays(folder, write_image):
    np.save(folder / "a.npy", np.arange(12.0).reshape(3, 4))
    (folder / "raw").write_bytes(b"raw")
    features = {
        "array": Array(file=FileRef(path=str(folder / "a.npy"))),
        "raw": RawFile(file=FileRef(path=str(folder / "raw"))),
        "inline": Array(dtype="int64", shape=(1,), data=bytes(8)),
    }
    return [Record(key="a", features=features)]


def of_examples(folder, write_image):
    image = write_image(folder / "a.jpg").read_bytes()
    frame = framed(serialize({"image": bytes_feature(image), "text": bytes_feature(b"x")}))
    (folder / "a.tfrecord").write_bytes(frame * 3)
    size = len(frame)
    files = [
        FileRef(path=f"{folder}/a.tfrecord", offset=start * size, length=size) for start in range(3)
    ]
    return [Record(key=f"{n}", features={}, example=file) for n, file in enumerate(files)]


def of_long_texts(folder, write_image):
    """They are read by what the source says, which nothing that is kept may."""
    (folder / "a.txt").write_bytes(b"a b " * 5000)
    file = FileRef(path=f"{folder}/a.txt", offset=0, length=20_000)
    return [Record(key="a", features={"text": Deferred(file=file, read=text_of)})]


@pytest.mark.parametrize("write", [of_images, of_arrays, of_examples, of_long_texts])
def test_every_kind_is_found_again(inspect, reads, tmp_path, write_image, write):
    words = tokenizers.models.WordLevel({"a": 5, "b": 7, "?": 0}, unk_token="?")
    tokenizers.Tokenizer(words).save(str(tmp_path / "words.json"))
    elements = write(tmp_path, write_image)
    options = {"tokenizer": str(tmp_path / "words.json")}
    found, _ = inspect(elements, **options)
    assert found[-1].num_rows == len(elements), "nothing is rejected"
    reads.clear()

    assert inspect(elements, **options) == (found, len(elements))
    assert reads == []


def change_content(path):
    """Of the same size, and as old as before: what is copied over it may keep its time."""
    facts = path.stat()
    path.write_bytes(bytes(reversed(path.read_bytes())))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def grow(path):
    path.write_bytes(path.read_bytes() + b"\0")


@pytest.mark.parametrize("change", [change_content, grow, Path.unlink])
def test_a_changed_file_is_noticed(inspect, images, tmp_path, change):
    inspect(images)
    change(tmp_path / "in/2.png")
    found, taken = inspect(images)
    assert taken == 0
    assert inspect(images)[0] == found, "what was kept before is replaced"


def test_a_file_that_appears_is_noticed(inspect, images, tmp_path, write_image):
    inspect(images)
    write_image(tmp_path / "in/missing.png", seed=99)
    found, taken = inspect(images)
    assert taken == 0
    assert found[-1].num_rows == 6


def test_a_file_that_changes_while_it_is_read_is_not_kept(inspect, folder, tmp_path):
    """Two records are of one file, which is another when the second one is read."""
    path = tmp_path / "a"
    path.write_bytes(b"first")
    read = LOCAL.read

    def changing(*arguments):
        data = read(*arguments)
        path.write_bytes(path.read_bytes() + b"!")
        return data

    record = Record(key="a", features={"raw": RawFile(file=FileRef(path=str(path)))})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LOCAL, "read", changing)
        inspect([record, dataclasses.replace(record, key="b")])
    assert kept_files(folder) == []


@pytest.mark.parametrize(
    "options", [{"seed": 7}, {"split": {"train": 0.5, "test": 0.5}}, {"group_by": "label"}]
)
def test_other_options_find_anew(inspect, images, options):
    inspect(images)
    assert inspect(images, **options)[1] == 0


def test_other_code_finds_anew(inspect, images, monkeypatch):
    inspect(images)
    monkeypatch.setattr(kept, "_code", lambda: "another version")
    assert inspect(images)[1] == 0
    assert inspect(images)[1] == len(images)


def test_any_damage_is_noticed(inspect, images, folder, caplog):
    found, _ = inspect(images)
    [path] = kept_files(folder)
    data = path.read_bytes()
    damages = [b"", data[:10], data[:-1], data + b"\0", bytes(len(data))]
    damages += [
        data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        for place in range(0, len(data), 37)
    ]
    for damaged in damages:
        path.write_bytes(damaged)
        caplog.clear()
        assert inspect(images) == (found, 0)
        assert f"{path} is damaged" in caplog.text
        assert path.read_bytes() == data, "it is written again"


def sealed(value, *, protocol=5):
    packed = zlib.compress(value if isinstance(value, bytes) else pickle.dumps(value, protocol))
    return hashlib.sha256(packed).digest() + packed


class Act:
    """What a pickle of somebody else may hold: a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def test_what_is_kept_cannot_act(inspect, images, folder, tmp_path):
    """Whoever can write there knows the checksum, too."""
    found, _ = inspect(images)
    [path] = kept_files(folder)
    code, versions, values = kept._unpacked(path.read_bytes())
    marker = tmp_path / "acted"
    elsewhere = tmp_path / "secret"
    elsewhere.write_bytes(b"secret")
    other = {**values[1], "features": {"image": Image(file=FileRef(path=str(elsewhere)))}}
    for data in (
        sealed((code, versions, [Act(os.mkdir, str(marker)), *values[1:]])),
        sealed(Act(eval, f"__import__('os').mkdir('{marker}')")),
        sealed(b"cos\nmkdir\n(S'%b'\ntR." % str(marker).encode()),  # protocol 0
        sealed((code, versions, [*values[:1], other, *values[2:]])),
        sealed((code, versions, values[:-1])),
        sealed((code, versions, [*values[:1], 5, *values[2:]])),
        sealed(Deferred(file=FileRef(path="/"), read=os.listdir)),
        sealed(bytes(65 << 20)),
    ):
        path.write_bytes(data)
        assert inspect(images)[0] == found
        assert not marker.exists()


def test_small_files_are_sooner_read_again(inspect, images, folder, monkeypatch):
    monkeypatch.setattr(kept, "_LEAST_BYTES_A_FILE", 16 << 10)
    inspect(images)
    assert kept_files(folder) == []


def test_what_is_nearly_as_large_as_its_files_is_not_kept(
    inspect, folder, tmp_path, write_image, monkeypatch
):
    monkeypatch.setattr(kept, "_MOST_KEPT", 1 / 8)
    text = hashlib.shake_256(b"long").hexdigest(10_000).encode()
    (tmp_path / "a.txt").write_bytes(text)
    file = FileRef(path=f"{tmp_path}/a.txt", offset=0, length=len(text))
    inspect([Record(key="a", features={"text": Deferred(file=file, read=text_of)})])
    assert kept_files(folder) == []


def test_where_nothing_can_be_written_nothing_is_kept(inspect, images, folder):
    folder.write_bytes(b"no folder")
    found, _ = inspect(images)
    assert inspect(images) == (found, 0)

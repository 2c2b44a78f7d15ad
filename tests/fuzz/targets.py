"""What reads each format: the functions that commands and users reach, in this process."""

import bz2
import contextlib
import dataclasses
import functools
import io
import json
import lzma
import random
import shutil
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from beam_pipeline.errors import BeamTFRecordsError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.inspect.record import inspect_record
from beam_pipeline.kinds import observe_all
from beam_pipeline.kinds.rules import Rules
from beam_pipeline.records import Array, Audio, FileRef, Image, Map, Record, Rejected, Value
from beam_pipeline.running.buckets import Buckets
from beam_pipeline.schema.declaration import read_schema
from beam_pipeline.schema.inference import infer
from beam_pipeline.sources.arrays.files import find_tables
from beam_pipeline.sources.bdd100k import Bdd100kFiles
from beam_pipeline.sources.captions import ReadCaptionList
from beam_pipeline.sources.class_maps import class_map
from beam_pipeline.sources.coco.files import find_coco_files
from beam_pipeline.sources.coco.read import joined
from beam_pipeline.sources.coco.stream import read_coco
from beam_pipeline.sources.columnar.read import ReadArrow, ReadParquet, ReadSqlite
from beam_pipeline.sources.columns.options import ValueOptions
from beam_pipeline.sources.createml import CreateMlFiles
from beam_pipeline.sources.cub import LISTS as CUB_LISTS
from beam_pipeline.sources.cub import read_lists
from beam_pipeline.sources.cvat import CvatFiles
from beam_pipeline.sources.dota import DotaFiles
from beam_pipeline.sources.folders.imagenet import read_classes
from beam_pipeline.sources.gather import Entry, gathered, in_batches
from beam_pipeline.sources.idx import find_pairs, read_pair
from beam_pipeline.sources.image_folders import annotation_file
from beam_pipeline.sources.image_items import ItemFiles, ItemReader
from beam_pipeline.sources.input_files import InputFile
from beam_pipeline.sources.kitti import KittiFiles
from beam_pipeline.sources.label_studio import LabelStudioCsv, LabelStudioFiles
from beam_pipeline.sources.labelme import LabelMeFiles
from beam_pipeline.sources.manifest.joining import join_rows, numbered
from beam_pipeline.sources.manifest.read import ReadCsv, ReadManifest
from beam_pipeline.sources.manifest.read_json import ReadJsonl
from beam_pipeline.sources.manifest.records import read_entries, read_table
from beam_pipeline.sources.manifest.survey import overview, survey
from beam_pipeline.sources.manifest.workbook import ReadXlsx
from beam_pipeline.sources.masks import tables
from beam_pipeline.sources.mot import MotFiles
from beam_pipeline.sources.side_files.files import SideFiles
from beam_pipeline.sources.split_lists import SplitList, missing_files
from beam_pipeline.sources.split_lists import read_lists as read_split_lists
from beam_pipeline.sources.supervisely import SuperviselyFiles
from beam_pipeline.sources.tar.read import read_tar
from beam_pipeline.sources.tar.records import record_of_parts
from beam_pipeline.sources.tar.roles import find_roles, kinds_of_members
from beam_pipeline.sources.texts import CaptionFiles, TranscriptFiles
from beam_pipeline.sources.tfrecord.files import find_record_files
from beam_pipeline.sources.tfrecord.read import expectations, first_records, list_records
from beam_pipeline.sources.transcripts import lines_of
from beam_pipeline.sources.via import ViaFiles
from beam_pipeline.sources.visdrone import VisDroneFiles
from beam_pipeline.sources.voc.layout import VocFiles
from beam_pipeline.sources.wider_face import WiderFaceFiles
from beam_pipeline.sources.yolo.config import YoloConfig, read_data_yaml
from beam_pipeline.sources.yolo.files import YoloFiles
from beam_pipeline.write.encoding import Encoder
from fuzz import corpus, sealing
from fuzz.mutation import json_mutated, mutated

RULES = Rules()
CLASS_TABLES = ("class_dict.csv", "labelmap.txt", "label_colors.txt", "objectInfo150.txt")
_NAMED = YoloConfig(root="/", names={0: "cat", 1: "dog"})
# (data, an empty folder) to how many refusals by name there were.
Reads = Callable[[bytes, Path], int]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Format:
    """A format, and what reads it.

    Attributes:
        corpus: Right files.
        read: Reads a case.
        seal: Makes checksums fit again, which half of the cases get.
        change: Changes a file in its own way, as half of the cases are; None for none.
        cases_for_one: How many cases of others take the time of one.
    """

    corpus: Callable[[], list[bytes]]
    read: Reads
    seal: Callable[[bytes], bytes] | None = None
    change: Callable[[random.Random, bytes], bytes] | None = None
    cases_for_one: int = 1


def _media(kind: Callable[..., Value], name: str) -> Reads:
    """Inspects a file, and encodes it as a shard would have it."""

    def read(data: bytes, folder: Path) -> int:
        path = folder / name
        path.write_bytes(data)
        value = kind(file=FileRef(path=str(path)))
        _finish(inspect_record(Record(key="x", features={"x": value}), RULES))
        return 0

    return read


def _finish(record: Record) -> None:
    schema = infer(observe_all([record]), num_records=1, declared={})
    Encoder(schema=schema, rules=RULES).encode(record)


def _gather(yielded: Iterable[Any], join: Callable[..., Any], *arguments: Any) -> list[Any]:
    entries: list[Entry] = []
    elements: list[Any] = []
    for each in yielded:
        (entries if isinstance(each, Entry) else elements).append(each)
    for key, values in gathered(batch for _, batch in in_batches(entries, Buckets(3))):
        elements += join(key, list(values), *arguments)
    return elements


def _refused(elements: Iterable[Any]) -> int:
    return sum(isinstance(each, Rejected) for each in elements)


def _coco(data: bytes, folder: Path) -> int:
    (folder / "a.json").write_bytes(data)
    (folder / "a").mkdir()  # of maps
    files, aside = find_coco_files(str(folder / "a.json"), None)
    yielded = (each for file in [*files, *aside] for each in read_coco(file))
    return _refused(_gather(yielded, joined))


def _items(files: ItemFiles, name: str) -> Reads:
    """A file that describes many images: its items, each on an image that is there."""

    def read(data: bytes, folder: Path) -> int:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
        (folder / "a.png").write_bytes(corpus.images("PNG", "RGB")[0])
        image = Image(file=FileRef(path=str(folder / "a.png")))
        taken = 0
        for each in ItemReader((files,))(annotation_file(str(folder), name, None)):
            if isinstance(each, Record):
                placed = dataclasses.replace(each, features={**each.features, "image": image})
                with contextlib.suppress(RecordError):
                    _finish(inspect_record(placed, RULES))
                    taken += 1
        return not taken

    return read


def _yaml(data: bytes, folder: Path) -> int:
    path = folder / "data.yaml"
    path.write_bytes(data)
    (folder / "images").mkdir(exist_ok=True)
    refused = 0
    for read in (read_data_yaml, read_schema):
        try:
            read(str(path))
        except BeamTFRecordsError:
            refused += 1
    return refused // 2  # none is both


def _schema(data: bytes, folder: Path) -> int:
    """A declaration of features, as `build` and `train` read it."""
    from trainer.dataset import declaration

    path = folder / "schema.json"
    path.write_bytes(data)
    refused = 0
    for read in (read_schema, declaration.read_schema):
        try:
            read(str(path))
        except BeamTFRecordsError:
            refused += 1
    return refused


def _beside(files: SideFiles) -> Reads:
    """A file beside an image: what it calls it, and what it says of it."""

    def read(data: bytes, folder: Path) -> int:
        files.named_image(data)
        features, _ = files.parse(data, "a")
        path = folder / "a.png"
        path.write_bytes(corpus.images("PNG", "RGB")[0])
        image = Image(file=FileRef(path=str(path)))
        _finish(inspect_record(Record(key="a", features={"image": image, **features}), RULES))
        return 0

    return read


def _classes(data: bytes, folder: Path) -> int:
    """A file that names the classes of maps, of every form."""
    found = [tables.read_table(storage.decoded(data, name), name) for name in CLASS_TABLES]
    return not any(found)


def _class_map(data: bytes, folder: Path) -> int:
    """A file that names the classes of a table, of every form."""
    paths = [folder / f"classes.{suffix}" for suffix in ("json", "csv", "txt")]
    for path in paths:
        path.write_bytes(data)
    found = [class_map([str(path)], ["0"]) for path in paths]
    return not any(found)


def _cub(data: bytes, folder: Path) -> int:
    """All lists of CUB-200-2011 as one file: each begins with a line of its name."""
    for part in data.split(b"== ")[1:]:
        name, _, text = part.partition(b"\n")
        if name.decode(errors="replace") in CUB_LISTS:
            (folder / name.decode()).write_bytes(text)
    if not all((folder / name).exists() for name in CUB_LISTS):
        return 1
    return _refused(read_lists(str(folder)))


def _split_list(data: bytes, folder: Path) -> int:
    """A list of files, and one of all with the numbers of their splits; the first line is found."""
    for name, mark in (("train.txt", ""), ("list_eval_partition.txt", "0")):
        (folder / name).write_bytes(data)
        told = SplitList(path=str(folder / name), name=name, split="train", mark=mark)
        lines = read_split_lists([told], [str(folder)])
        list(lines.of("a.jpg"))
        if lines.starts[-1]:
            list(missing_files(b"\x01", lines))
    return 0


def _spoken(data: bytes, folder: Path) -> int:
    """A chapter's transcripts, as LibriSpeech has them."""
    (folder / "a.trans.txt").write_bytes(data)
    return not list(lines_of(str(folder / "a.trans.txt"), "a.trans.txt"))


def _imagenet(data: bytes, folder: Path) -> int:
    """The table of the classes of ImageNet's validation images."""
    (folder / "LOC_val_solution.csv").write_bytes(data)
    return not read_classes(str(folder / "LOC_val_solution.csv"))


def _manifest(source: type[ReadManifest], name: str) -> Reads:
    def read(data: bytes, folder: Path) -> int:
        (folder / name).write_bytes(data)
        (folder / "a.jpg").touch()
        job = source(str(folder / name), scratch=str(folder)).job()
        parts = [part for table in job.tables for part in table.ranges(64, job.scratch)]
        rows = overview([survey(part, job.questions) for part in parts], job.questions)
        if not rows.columns.key:
            return _refused(each for part in parts for each in read_table(part, rows))
        entries = (entry for part in parts for entry in read_entries(part, rows))
        join = (join_rows, rows) if rows.columns.joins_rows else (numbered,)
        return _refused(_gather(entries, *join))

    return read


def _tar(data: bytes, folder: Path) -> int:
    path = folder / "a.tar"
    path.write_bytes(data)
    file = InputFile(path=str(path), relative="a.tar", split=None)
    options = ValueOptions()
    yielded = list(read_tar(file, options))
    parts = [part for each in yielded if isinstance(each, Entry) for _, part in [each.value]]
    roles = find_roles(kinds_of_members(parts), options)
    elements = _gather(yielded, record_of_parts, roles, options)
    return _inspect(elements)


def _zip(data: bytes, folder: Path) -> int:
    """All that lies in it, by its name and by its place, whole and in pieces."""
    path = folder / "a.zip"
    path.write_bytes(data)
    refused = 0
    for file in storage.list_files(f"{path}:"):
        for each in (file.path, storage.resolved(file.path)):
            try:
                whole = storage.read_bytes(FileRef(path=each), 1 << 20)
                with storage.opened(each) as handle:
                    assert handle.read() == whole
            except BeamTFRecordsError:
                refused += 1
    return refused


def _hdf5(data: bytes, folder: Path) -> int:
    """All of its rows, unpacked where they have to be."""
    path = folder / "a.h5"
    path.write_bytes(data)
    tables, rejected = find_tables(str(path))
    for table in tables:
        for part in table.ranges(scratch=str(folder)):
            for batch in part.table.batches(part.start, part.end):
                assert batch.columns
    return len(rejected)


def _idx(data: bytes, folder: Path) -> int:
    """As images, and as their classes."""
    ending = ".gz" if data.startswith(b"\x1f\x8b") else ""
    right = corpus.idxs()[0]
    labels = bytes([0, 0, 8, 1, 0, 0, 0, 2, 1, 7])
    refused = 0
    for number, (images, classes) in enumerate(((data, labels), (right, data))):
        place = folder / str(number)
        place.mkdir()
        (place / f"x-images-idx3-ubyte{'' if number else ending}").write_bytes(images)
        (place / f"x-labels-idx1-ubyte{ending if number else ''}").write_bytes(classes)
        pairs, _ = find_pairs(str(place))
        refused += _inspect(each for pair in pairs for each in read_pair(pair, str(place)))
    return refused // 2  # the same file is none of both


def _inspect(elements: Iterable[Any]) -> int:
    refused = 0
    for each in elements:
        try:
            refused += isinstance(each, Rejected)
            if isinstance(each, Record):
                inspect_record(each, RULES)
        except BeamTFRecordsError:
            refused += 1
    return refused


def _tfrecord(data: bytes, folder: Path) -> int:
    """As input of a build, then salvaged, then opened for training."""
    import trainer
    from beam_pipeline.dataset.salvaged_file import DamagedFile, salvage_file

    path = folder / "a.tfrecord"
    path.write_bytes(data)
    damaged = DamagedFile(path=str(path), file="b", num_records=None, scratch=str(folder / "s"))
    refused = len(salvage_file(damaged, str(folder), "").losses)
    try:
        for split in trainer.open(str(path)).splits.values():
            split.index()
    except BeamTFRecordsError:
        refused += 1
    files, others = find_record_files(str(path))
    expected = expectations(first_records(files))
    scratch = str(folder)
    elements = [each for file in files for each in list_records(file, scratch, expected)]
    return refused + len(others) + _inspect(elements)


def _example(data: bytes, folder: Path) -> int:
    return _tfrecord(sealing.frame(data), folder)


def _of_dataset(name: str, *, stated: bool) -> Reads:
    """A file of a dataset: verified, shown, and opened for training."""

    def read(data: bytes, folder: Path) -> int:
        import beam_pipeline
        import trainer
        from beam_pipeline.cli.show import examples
        from beam_pipeline.showing.texts import as_text

        directory = folder / "d"
        shutil.copytree(corpus.GOLDEN, directory)
        (directory / name).write_bytes(data)
        if stated:
            _state(directory, name)
        refused = 0
        try:
            for split in trainer.open(str(directory)).splits.values():
                split.index()
        except BeamTFRecordsError:
            refused += 1
        info = beam_pipeline.open_dataset(str(directory))
        refused += len(beam_pipeline.verify(info))
        for _, example in examples(info, None, 2):
            as_text(example, info.features)
        return refused

    return read


def _state(directory: Path, name: str) -> None:
    """Has metadata.json state a file as it is now."""
    from tfrecord_dataset.metadata import FileEntry
    from tfrecord_dataset.sealed_json import sealed

    path = directory / "metadata.json"
    facts = json.loads(path.read_text())
    facts.pop("checksum")
    facts["files"][name] = dataclasses.asdict(FileEntry.of((directory / name).read_bytes()))
    path.write_text(sealed(facts))


def _of_run(name: str) -> Reads:
    """config.json or task.json, as `evaluate` and `--resume` read them."""

    def read(data: bytes, folder: Path) -> int:
        from trainer.runs.directory import RunDirectory

        (folder / name).write_bytes(data)
        run = RunDirectory(str(folder))
        run.read_config() if name == "config.json" else run.read_task()
        return 0

    return read


def _configs() -> list[bytes]:
    from trainer.options.train import TrainConfig
    from trainer.runs.record import Order, RunConfig, sealed

    made = RunConfig(
        options=TrainConfig(data="d", output="o", batch_size=8, inputs=("a",)),
        data={"fingerprint": "x"},
        order=Order(window=100, stored_size=(3, 4)),
        class_weights=(1.0, 2.5),
        weights=(("dense/kernel", (3, 2)),),
    )
    return [sealed(dataclasses.asdict(made))]


def _tasks() -> list[bytes]:
    import trainer
    from trainer.runs.record import sealed
    from trainer.tasks.choice import choose_task
    from trainer.tasks.record import task_to_json

    features = trainer.open(str(corpus.GOLDEN)).features
    goals = [name for name, each in features.items() if each.kind in ("class_label", "boxes")]
    tasks = [choose_task(features, goal)[0] for goal in goals]
    return [sealed(task_to_json(task, features)) for task in tasks]


def _checkpoint(data: bytes, folder: Path) -> int:
    """A checkpoint's index, whose checksums were made anew, and another before it."""
    from tfrecord_dataset.regular_files import sha256_of

    checkpoints = _checkpoints(folder)
    step = folder / "step-2"
    (step / "state.index").write_bytes(data)
    names = [each.name for each in step.iterdir() if each.name != "checksums.json"]
    checksums = {name: sha256_of(step / name) for name in names}
    (step / "checksums.json").write_text(json.dumps(checksums))
    steps, _ = checkpoints.restore()
    return int(steps != 2)


def _checksums(data: bytes, folder: Path) -> int:
    checkpoints = _checkpoints(folder)
    (folder / "step-2/checksums.json").write_bytes(data)
    return int(checkpoints.restore()[0] != 2)


_CHECKPOINTS: dict[str, Any] = {}


def _checkpoints(folder: Path) -> Any:
    """Two checkpoints of one small model, in a folder."""
    import keras

    from trainer.training.checkpoint import Checkpoints

    if not _CHECKPOINTS:
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        optimizer = keras.optimizers.SGD()
        optimizer.build(model.trainable_variables)
        _CHECKPOINTS["parts"] = model, optimizer
    checkpoints = Checkpoints(folder, *_CHECKPOINTS["parts"])
    if "saved" not in _CHECKPOINTS:
        for step in (1, 2):
            checkpoints.save(step, [0.5])
        names = [path for path in folder.rglob("*") if path.is_file()]
        _CHECKPOINTS["saved"] = {path.relative_to(folder): path.read_bytes() for path in names}
    for path, data in _CHECKPOINTS["saved"].items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
    return checkpoints


def _of_checkpoint(name: str) -> Callable[[], list[bytes]]:
    def made() -> list[bytes]:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            _checkpoints(Path(folder))
            return [(Path(folder) / "step-2" / name).read_bytes()]

    return made


def _json(draw: random.Random, data: bytes) -> bytes:
    return json_mutated(draw, data.decode()).encode(errors="surrogatepass")


def _json_lines(draw: random.Random, data: bytes) -> bytes:
    lines = data.decode().splitlines()
    return "".join(f"{json_mutated(draw, line)}\n" for line in lines).encode(errors="surrogatepass")


def _zip_mutated(draw: random.Random, data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    name = draw.choice([*parts])
    parts[name] = mutated(draw, parts[name], [*parts.values()])
    return corpus.zipped(parts)


def _zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


def _sealed_json(draw: random.Random, data: bytes) -> bytes:
    return sealing.sealed_text(json_mutated(draw, sealing.unsealed_text(data)))


def _seal(data: bytes) -> bytes:
    """A sealed file whose JSON was changed as bytes, sealed again."""
    end = data.rfind(b',\n  "checksum"')
    text = data[:end] + b"\n}" if end >= 0 else data
    return sealing.sealed_text(text.decode(errors="surrogateescape"))


_PARQUET = f"index/{corpus.SHARD}.parquet"
_IDX = f"idx/{corpus.SHARD}.idx"

FORMATS = {
    "jpeg": Format(corpus=corpus.jpegs, read=_media(Image, "a.jpg")),
    "png": Format(
        corpus=lambda: corpus.images("PNG", "RGB", "LA", "P", "I;16"),
        read=_media(Image, "a.png"),
        seal=sealing.png,
    ),
    "webp": Format(
        corpus=lambda: [
            *corpus.images("WEBP", "RGB", "RGBA"),
            *corpus.images("WEBP", "RGBA", lossless=True),
        ],
        read=_media(Image, "a.webp"),
    ),
    "gif, bmp, tiff": Format(
        corpus=lambda: [
            each for kind in ("GIF", "BMP", "TIFF") for each in corpus.images(kind, "RGB", "L")
        ],
        read=_media(Image, "a.tif"),
    ),
    "other images": Format(corpus=corpus.other_images, read=_media(Image, "a.ppm")),
    "wav": Format(corpus=corpus.waves, read=_media(Audio, "a.wav")),
    "flac": Format(
        corpus=lambda: corpus.sounds("FLAC", "PCM_16", "PCM_24"), read=_media(Audio, "a.flac")
    ),
    "ogg": Format(
        corpus=lambda: corpus.sounds("OGG", "VORBIS", "OPUS"),
        read=_media(Audio, "a.ogg"),
        seal=sealing.ogg,
    ),
    "npy": Format(corpus=corpus.npys, read=_media(Array, "a.npy")),
    "npz": Format(corpus=corpus.npzs, read=_media(Array, "a.npz")),
    "tar": Format(corpus=corpus.tars, read=_tar),
    "hdf5": Format(corpus=corpus.hdf5s, read=_hdf5, cases_for_one=3),
    "zip": Format(corpus=corpus.zips, read=_zip),
    "idx": Format(corpus=corpus.idxs, read=_idx),
    "xml": Format(corpus=corpus.annotations, read=_beside(VocFiles())),
    "json": Format(corpus=corpus.cocos, read=_coco, change=_json),
    "yaml": Format(corpus=corpus.yamls, read=_yaml),
    "schema": Format(corpus=corpus.schemas, read=_schema, change=_json),
    "txt": Format(corpus=corpus.labels, read=_beside(YoloFiles("/", _NAMED))),
    "mp3": Format(corpus=corpus.mp3s, read=_media(Audio, "a.mp3")),
    "captions": Format(corpus=corpus.captions, read=_manifest(ReadCaptionList, "a.token.txt")),
    "texts": Format(corpus=corpus.caption_texts, read=_beside(CaptionFiles())),
    "cub": Format(corpus=corpus.cubs, read=_cub),
    "kitti": Format(corpus=corpus.kittis, read=_beside(KittiFiles())),
    "labelme": Format(corpus=corpus.labelmes, read=_beside(LabelMeFiles()), change=_json),
    "coco captions": Format(corpus=corpus.cocos_of_captions, read=_coco, change=_json),
    "coco panoptic": Format(corpus=corpus.cocos_of_maps, read=_coco, change=_json),
    **{
        name: Format(
            corpus=functools.partial(corpus.of_cases, name.partition(" ")[0], ending),
            read=_items(files, f"a{ending}" if ending[0] == "." else ending),
            change=_json if ending == ".json" else None,
        )
        for name, ending, files in (
            ("labelstudio", ".json", LabelStudioFiles()),
            ("labelstudio csv", ".csv", LabelStudioCsv()),
            ("cvat", ".xml", CvatFiles()),
            ("via", ".json", ViaFiles()),
            ("createml", ".json", CreateMlFiles()),
            ("bdd100k", ".json", Bdd100kFiles()),
            ("widerface", "_bbx_gt.txt", WiderFaceFiles()),
            ("mot", "gt/gt.txt", MotFiles()),
        )
    },
    **{
        name: Format(
            corpus=functools.partial(corpus.of_cases, name, ending),
            read=_beside(files),
            change=_json if ending == ".json" else None,
        )
        for name, ending, files in (
            ("supervisely", ".json", SuperviselyFiles()),
            ("visdrone", ".txt", VisDroneFiles()),
            ("dota", ".txt", DotaFiles()),
        )
    },
    "split lists": Format(corpus=corpus.split_lists, read=_split_list),
    "spoken lines": Format(corpus=corpus.spoken_lines, read=_spoken),
    "imagenet": Format(corpus=corpus.imagenet_tables, read=_imagenet),
    "transcripts": Format(corpus=corpus.caption_texts, read=_beside(TranscriptFiles())),
    "map": Format(corpus=corpus.maps, read=_media(Map, "a.png"), seal=sealing.png),
    "classes": Format(corpus=corpus.class_tables, read=_classes),
    "class names": Format(corpus=corpus.class_maps, read=_class_map),
    "csv": Format(corpus=corpus.csvs, read=_manifest(ReadCsv, "a.csv")),
    "jsonl": Format(corpus=corpus.jsonls, read=_manifest(ReadJsonl, "a.jsonl"), change=_json_lines),
    "rows": Format(corpus=corpus.json_lists, read=_manifest(ReadJsonl, "a.json"), change=_json),
    "sqlite": Format(corpus=corpus.databases, read=_manifest(ReadSqlite, "a.db")),
    "xlsx": Format(
        corpus=corpus.workbooks, read=_manifest(ReadXlsx, "a.xlsx"), change=_zip_mutated
    ),
    **{
        suffix: Format(
            corpus=functools.partial(corpus.packed, pack),
            read=_manifest(ReadCsv, f"a.csv.{suffix}"),
        )
        for suffix, pack in (("bz2", bz2.compress), ("xz", lzma.compress), ("zst", _zstd))
    },
    "arrow": Format(corpus=corpus.arrows, read=_manifest(ReadArrow, "a.arrow")),
    "tables": Format(corpus=corpus.parquets, read=_manifest(ReadParquet, "a.parquet")),
    "tfrecord": Format(corpus=corpus.records, read=_tfrecord, seal=sealing.frames),
    "example": Format(corpus=corpus.examples, read=_example),
    "metadata": Format(
        corpus=lambda: corpus.golden("metadata.json"),
        read=_of_dataset("metadata.json", stated=False),
        seal=_seal,
        change=_sealed_json,
        cases_for_one=10,
    ),
    "features": Format(
        corpus=lambda: corpus.golden("features.json"),
        read=_of_dataset("features.json", stated=True),
        change=_json,
        cases_for_one=10,
    ),
    "dataset_info": Format(
        corpus=lambda: corpus.golden("dataset_info.json"),
        read=_of_dataset("dataset_info.json", stated=True),
        change=_json,
        cases_for_one=10,
    ),
    "statistics": Format(
        corpus=lambda: corpus.golden("statistics.json"),
        read=_of_dataset("statistics.json", stated=True),
        change=_json,
        cases_for_one=10,
    ),
    "index": Format(
        corpus=lambda: corpus.golden(_IDX), read=_of_dataset(_IDX, stated=True), cases_for_one=10
    ),
    "parquet": Format(
        corpus=lambda: corpus.golden(_PARQUET),
        read=_of_dataset(_PARQUET, stated=True),
        cases_for_one=10,
    ),
    "config": Format(corpus=_configs, read=_of_run("config.json"), seal=_seal, change=_sealed_json),
    "task": Format(corpus=_tasks, read=_of_run("task.json"), seal=_seal, change=_sealed_json),
    "checkpoint": Format(corpus=_of_checkpoint("state.index"), read=_checkpoint, cases_for_one=10),
    "checksums": Format(
        corpus=_of_checkpoint("checksums.json"), read=_checksums, change=_json, cases_for_one=10
    ),
}

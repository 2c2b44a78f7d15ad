"""Images in one folder a class, perhaps below one folder a split."""

import dataclasses
from collections.abc import Iterable, Iterator

import apache_beam as beam

from beam_pipeline import storage
from beam_pipeline.records import ClassLabel, FileRef, Image, Record, Rejected
from beam_pipeline.sources.paths import has_image_suffix, input_folder, is_split_name, unused


@dataclasses.dataclass
class ReadClassFolders(beam.PTransform):
    """Images in one folder a class: `root/<class>/…/<image>` or `root/<split>/<class>/…/<image>`.

    Yields for every file below `root`, in no order:

    - a Record {image, label} where the suffix is an image's, whatever the content. Its class is
      the first folder below `root`, or below the split; its key is the path below `root`.
    - Rejected "no class folder", bad, for an image outside every class folder.
    - Rejected "not an image file", not bad, for every other file.

    The layout has splits where every folder of `root` that holds images has a split's name
    (train, val, valid, validation, test, dev, also train2017, test_set, …, in any case) and some
    image lies two folders deep. The names are kept as written. Hidden files are no input.

    Attributes:
        root: The folder, local or remote.

    Raises:
        ConfigError: `root` is not a folder.
    """

    root: str

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        return (
            pipeline
            | "Root" >> beam.Create([input_folder(self.root)])  # str
            | "ListFiles" >> beam.FlatMap(list_class_folders)  # Record | Rejected
        )


def list_class_folders(root: str) -> Iterator[Record | Rejected]:
    """What every file below `root` is."""
    files = list(storage.list_files(root))
    splits = has_split_folders(file.relative for file in files)
    for file in files:
        yield labelled_record(file.path, file.relative, has_splits=splits)


def has_split_folders(relatives: Iterable[str]) -> bool:
    """Whether the first folders are splits and not classes."""
    images = [relative.split("/") for relative in relatives if has_image_suffix(relative)]
    return any(len(parts) > 2 for parts in images) and all(
        is_split_name(name) for name in {parts[0] for parts in images if len(parts) > 1}
    )


def labelled_record(path: str, relative: str, *, has_splits: bool) -> Record | Rejected:
    """The record of one image file, labelled by its folder."""
    if not has_image_suffix(relative):
        return unused(relative)
    parts = relative.split("/")
    depth = 1 if has_splits else 0
    if len(parts) < depth + 2:
        return Rejected(
            source=relative,
            reason="no class folder",
            detail="the image lies beside the class folders; move it into the one of its class",
        )
    return Record(
        key=relative,
        features={"image": Image(file=FileRef(path=path)), "label": ClassLabel(parts[depth])},
        split=parts[0] if has_splits else None,
    )

"""What stands for a data.yaml in older YOLO datasets: Darknet's obj.data, lists of images, names.

Source of the format: https://github.com/AlexeyAB/darknet#how-to-train-to-detect-your-custom-objects.
"""

from collections.abc import Iterator, Sequence

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.schema.declaration import MAX_BYTES
from beam_pipeline.sources.paths import below, has_image_suffix, joined, stem
from beam_pipeline.sources.tree import head
from tfrecord_dataset.split_names import is_split

# The last is Roboflow's.
NAME_LISTS = ("classes.txt", "obj.names", "predefined_classes.txt", "_darknet.labels")


def find_obj_data(root: str, files: Sequence[str]) -> str | None:
    """The path of the obj.data among the `files` of folder `root`.

    Raises:
        ConfigError: Several files could be it.
    """
    found = [
        below(root, name)
        for name in files
        if name.endswith(".data") and {"train", "names"} & read_obj_data(below(root, name)).keys()
    ]
    if len(found) > 1:
        raise ConfigError(
            f"{root} has several of Darknet's descriptions: {', '.join(found)}; move all but one "
            "elsewhere"
        )
    return found[0] if found else None


def read_obj_data(path: str) -> dict[str, str]:
    """The values of an obj.data: "train = data/train.txt"."""
    pairs = (line.partition("=") for line in read(path).splitlines() if not line.startswith("#"))
    return {key.strip(): value.strip() for key, equals, value in pairs if equals and value.strip()}


def find_names(root: str, folders: Sequence[str]) -> tuple[str, list[str]]:
    """The path of the list of class names and what it says; ("", []) where there is none.

    It lies in `root`, or, as LabelImg leaves it, beside the label files.

    Args:
        root: The dataset's folder.
        folders: The names of those in it.

    Raises:
        ConfigError: There are several, and they differ.
    """
    found: dict[tuple[str, ...], str] = {}
    for place in _places(root, folders):
        for name in NAME_LISTS:
            path = below(root, joined(place, name))
            if storage.exists(path):
                found.setdefault(tuple(read_names(path)), path)
                break
    if len(found) > 1:
        raise ConfigError(
            f"the lists of class names {' and '.join(found.values())} differ; make them equal, or "
            f"write one {NAME_LISTS[0]} in {root} and remove them"
        )
    return next(((path, [*names]) for names, path in found.items()), ("", []))


def _places(root: str, folders: Sequence[str]) -> Iterator[str]:
    """Where lists of names may lie: the root, folders of labels, and those in folders of splits."""
    yield ""
    for folder in folders:
        if folder.lower() == "labels" or is_split(folder):
            yield folder
            for inner, is_folder in storage.scan_folder(below(root, folder)):
                if is_folder and (inner.lower() == "labels" or is_split(inner)):
                    yield joined(folder, inner)


def read_names(path: str) -> list[str]:
    """Class names, one a line."""
    return [line for line in map(str.strip, read(path).splitlines()) if line]


def find_lists(root: str, files: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The lists of images among the `files` of folder `root` that are called after splits."""
    return {
        stem(name): (below(root, name),)
        for name in files
        if name.endswith(".txt") and is_split(stem(name)) and _names_image(below(root, name))
    }


def _names_image(path: str) -> bool:
    lines = head(path).decode(errors="replace").splitlines()
    return has_image_suffix(next(filter(None, map(str.strip, lines)), ""))


def read(path: str) -> str:
    """The text of a description.

    Raises:
        ConfigError: It cannot be read.
    """
    try:
        return storage.read_text(path, MAX_BYTES)
    except RecordError as error:
        raise ConfigError(f"cannot read {path}: {error}") from error

"""What a layout says of files that belong to an image by their names."""

import abc
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from beam_pipeline.files import storage
from beam_pipeline.records import DeclaredClasses, Rejected, composed
from beam_pipeline.running.pickling import crosses
from beam_pipeline.sources.annotations.shapes import Told
from beam_pipeline.sources.beside import unused
from beam_pipeline.sources.paths import (
    below,
    folder,
    joined,
    left_out,
    media_kind,
    place_of,
    shared_name,
    split_at,
    suffix,
)
from beam_pipeline.sources.side_files.image_sets import ImageSets, find_image_sets, listed_names
from tfrecord_dataset.split_names import split_of_folders

# Of an annotation. In memory XML takes up to thirty times its text.
MAX_BYTES = 16 << 20


@crosses
class Line(NamedTuple):
    """A line of a list of images.

    Attributes:
        name: What is listed, without folders and suffix: it meets the files of this name.
        path: Of the list.
        number: Of the line, from 1.
        split: That the list is of.
        text: What the line says.
    """

    name: str
    path: str
    number: int
    split: str
    text: str

    @property
    def source(self) -> str:
        """The line, for messages."""
        return f"{self.path}:{self.number}"


@crosses
class Match(NamedTuple):
    """An image and the file that belongs to it; one of them may be "", as there is none.

    Attributes:
        image: Its path below the root.
        annotation: The path of the file beside it.
        splits: Those that are stated of the one that lists name.
        problem: Why they are no pair, though their names are.
    """

    image: str
    annotation: str
    splits: frozenset[str]
    problem: Rejected | None = None


@crosses
class Pair(NamedTuple):
    """An image that is a record: its annotation ("" where it has none), and their split."""

    image: str
    annotation: str
    split: str | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What must be known of all files before some can be paired; of folders alone.

    Attributes:
        number: How many files there are.
        folders: Those with annotations.
        lists: The files below an ImageSets/ that are lists.
        sets: What the lists are.
        in_splits: Whether every annotation lies in the folder of a split.
    """

    number: int = 0
    folders: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    sets: ImageSets = dataclasses.field(default_factory=ImageSets)
    in_splits: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """What must be known of all files before some can be judged; of folders alone.

    Attributes:
        images: Those with images.
        annotations: Those with annotations.
        paired: (folder of an image, folder of an annotation of it).
        first: The first annotations, by their paths, that have an image.
    """

    images: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    paired: frozenset[tuple[str, str]] = frozenset()
    first: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class SideFiles(abc.ABC):
    """Files that belong to an image by their names: what they are, and what they say.

    A subclass states a suffix, a noun and `parse`, and refines what it knows otherwise. The rest is
    done for it (`read.ReadSideFiles`): each file is listed once, files of one name meet in a
    bucket, are paired and read, and what has no partner is rejected with its reason. Paths are
    relative to the root, with forward slashes.

    Attributes:
        suffix: Of an annotation, in lower case.
        noun: What an annotation is, for messages: "XML file".
        media: What annotations belong to: "image" or "audio", of which the same holds.
        home: The folder of annotations, in lower case; lists may name what lies below it with its
            folders there.
        image_home: The folder of images, in lower case, in the place of `home`; "" for none.
        images: Folders, in lower case, in which all images have an annotation.
        lists_images: Whether lists name images; else they name annotations.
        has_sets: Whether lists below an ImageSets/ make splits.
        naming: What of an annotation names its image, perhaps otherwise; "" where nothing does.
        max_bytes: Of an annotation; 0 where `parse` needs nothing but its path.
        is_shared: Whether one annotation is of all images that have its name.
    """

    suffix: ClassVar[str]
    noun: ClassVar[str]
    media: ClassVar[str] = "image"
    home: ClassVar[str] = ""
    image_home: ClassVar[str] = ""
    images: ClassVar[tuple[str, ...]] = ()
    lists_images: ClassVar[bool] = False
    has_sets: ClassVar[bool] = False
    naming: ClassVar[str] = ""
    max_bytes: ClassVar[int] = MAX_BYTES
    is_shared: ClassVar[bool] = False

    @property
    def tasks(self) -> tuple[str, ...]:
        """The folders of an ImageSets/ in which lists may be, in lower case; "" is itself."""
        return "main", ""

    @abc.abstractmethod
    def parse(self, data: bytes, annotation: str) -> Told:
        """The features of an image beside the image itself, and notes of what is not kept.

        Raises:
            RecordError: The annotation, of this path, cannot be used.
        """

    def annotates(self, path: str) -> bool:
        """Whether a file may be an annotation, by its name."""
        return suffix(path) == self.suffix

    def common_name(self, name: str) -> str:
        """What an image's and its annotation's name, without suffix, have in common."""
        return name

    def split_of_folder(self, path: str) -> str | None:
        """The split whose folder a file lies in."""
        return split_of_folders(path)

    def image_key(self, image: str) -> str:
        """What annotations find an image by."""
        return place_of(image, self.image_home)

    def image_keys(self, annotation: str, name: str) -> Iterable[str]:
        """Where the image of an annotation may be, likeliest first: the keys of images.

        Args:
            annotation: Its path.
            name: Its own, without folders; or what it calls its image.
        """
        return [place_of(annotation, self.home)]

    def role(self, path: str, survey: Survey) -> str:
        """What a file is: "image", "annotation", "list", or "" for nothing that is used."""
        if self.has_sets and split_at(path, "imagesets"):
            return "list"
        if media_kind(path) == self.media:
            return "image" if not self.image_home or split_at(path, self.image_home) else ""
        is_annotation = self.annotates(path) and folder(path) in survey.folders
        return "annotation" if is_annotation else ""

    def at_home(self, survey: Survey) -> Survey:
        """The survey with the folders in a `home` alone, where there is one or must be one."""
        proper = {place for place in survey.folders if split_at(f"{place}/", self.home)}
        others = frozenset[str]() if self.image_home else survey.folders
        return dataclasses.replace(survey, folders=frozenset(proper) or others)

    def surveyed(self, survey: Survey, root: str) -> Survey:
        """The survey of all files, completed: which folders have annotations, what lists are.

        Raises:
            ConfigError: The files cannot be read as they lie.
        """
        survey = self.at_home(survey)
        homes = [f"{home}/" for home in survey.folders]
        return dataclasses.replace(
            survey,
            sets=find_image_sets(survey.lists, root, self.tasks),
            in_splits=bool(homes) and all(map(self.split_of_folder, homes)),
        )

    def lines(self, survey: Survey, root: str) -> Iterator[Line | Rejected | DeclaredClasses]:
        """The lines of all lists, and what is to be said once of all files."""
        yield from survey.sets.rejected
        for path, (_, split) in sorted(survey.sets.splits.items()):
            for number, name in listed_names(storage.read_text(below(root, path))):
                yield Line(name.rpartition("/")[2], path, number, split, name)

    def names_in_lists(self, path: str, survey: Survey) -> Collection[str]:
        """What a list may call an annotation or an image."""
        home = survey.sets.home(path)
        if home is None:
            return ()
        name = shared_name(path)
        inner = composed((split_at(path, self.home) or ("", ""))[1])
        return {f"{home}\0{name}", f"{home}\0{joined(inner, name)}"}

    def names_of_line(self, line: Line, survey: Survey) -> Sequence[str]:
        """The `names_in_lists` that a line may mean, likeliest first; the last stands for it."""
        home = survey.sets.splits[line.path][0]
        return f"{home}\0{line.text}", f"{home}\0{line.name}"

    def splits_of_folder(self, path: str) -> Collection[str]:
        """The splits that are stated of the folders in which a file lies."""
        return ()

    def unfound(self, line: Line) -> Rejected:
        """What is said of a line that means no file."""
        return Rejected(
            source=line.source,
            reason="missing annotation",
            detail=f"{line.name!r} is listed and has no {self.noun}",
        )

    def split(self, match: Match, survey: Survey) -> str | Rejected | None:
        """The split of an annotation; None where nothing tells it."""
        names = match.splits
        if len(names) > 1:
            names = frozenset(name for name in names if name.lower() != "trainval")
        if len(names) == 1:
            return next(iter(names))
        path = match.annotation
        if names:
            return Rejected(
                source=path,
                reason="in two splits",
                detail=f"listed in {', '.join(sorted(names))}; take it out of all but one",
            )
        if survey.sets.home(path) is not None:
            return left_out(path, "in no image set", "no list of ImageSets/ names it")
        by_folder = survey.in_splits and not survey.sets.homes
        return self.split_of_folder(path) if by_folder else None

    def named_image(self, data: bytes) -> str:
        """What an annotation calls its image; "" where it does not.

        Raises:
            RecordError: The annotation cannot be used.
        """
        return ""

    def owners(self, annotations: Sequence[str]) -> Sequence[str]:
        """Which of the annotations with an image's name, sorted, are meant: one, if all is well."""
        return annotations

    def settled(self, folders: Folders, root: str) -> Any:
        """What `judge` takes of the folders of all files.

        Raises:
            ConfigError: The files cannot be read as they lie.
        """
        return {image for image, _ in folders.paired}

    def judge(self, match: Match, survey: Survey, settled: Any) -> Iterator[Pair | Rejected]:
        """What an image and its annotation are, or one that has no partner."""
        image, annotation, _, problem = match
        if annotation:
            split = self.split(match, survey)
            if isinstance(split, Rejected):
                yield split
            elif problem or not image:
                yield problem or self.without_image(annotation)
            else:
                yield Pair(image, annotation, split)
        elif folder(image) in settled or any(split_at(image, name) for name in self.images):
            yield Rejected(
                source=image,
                reason="no annotation",
                detail=f"no {self.noun} describes the {self.media}",
                bad=survey.sets.home(image) is None,
            )
        else:
            yield unused(image, self.media)

    def without_image(self, annotation: str) -> Rejected:
        """What is said of an annotation whose image is not there."""
        named = f", nor the one in its {self.naming}" if self.naming else ""
        return Rejected(
            source=annotation,
            reason=f"missing {self.media}",
            detail=f"no {self.media} has the {self.noun}'s name{named}",
        )

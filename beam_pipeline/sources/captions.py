"""The layout `captions`: texts of images, in one list of all or in a text beside each.

Sources of the lists' formats: Flickr8k's `Flickr8k.token.txt` and Flickr30k's `results_….token`
(`x.jpg#0`, a tab, the text), Flickr30k's `results.csv` (`image_name| comment_number| comment`), and
Kaggle's `captions.txt` (`image,caption`).
"""

import dataclasses
import re
from collections.abc import Sequence

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.problems import Problem
from beam_pipeline.sources.annotations.side_files import ReadSideFiles
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.layout import Claim, Layout, Rank, reading
from beam_pipeline.sources.paths import folder, joined, suffix
from beam_pipeline.sources.references import name_of, parent
from beam_pipeline.sources.split_lists import SplitList, WithSplits
from beam_pipeline.sources.tables.cells import Cells
from beam_pipeline.sources.tables.file_index import FileIndex
from beam_pipeline.sources.tables.names import CAPTIONS, IMAGE
from beam_pipeline.sources.tables.read import ReadCsv
from beam_pipeline.sources.tables.table import Table, TableFile
from beam_pipeline.sources.texts import CaptionFiles, is_numbered, texts_beside
from beam_pipeline.sources.tree import Tree, head
from tfrecord_dataset.split_names import split_in_name

_NAME = re.compile(r"captions\.txt|results\.csv|(?!.*lemma).*\.token(\.txt)?", re.IGNORECASE)
_NUMBERED = re.compile(rb"[^\t#\n]+\.\w{3,4}#\d+\t")
_HEADER = re.compile(
    rf"({'|'.join(IMAGE)})\s*[,|\t](.*[,|\t])?\s*({'|'.join(CAPTIONS)})\s*\n".encode(),
    re.IGNORECASE,
)


@dataclasses.dataclass
class ReadCaptionList(ReadCsv):
    """A list of captions, several lines an image: a table, perhaps without header.

    As `ReadCsv` reads an image that is in several rows. In lists without header a line begins with
    the image's name and the number of the caption, "x.jpg#0".
    """

    def opened(self, file: TableFile) -> Table:
        """As `ReadTables.opened`."""
        if not _is_numbered(file.path):
            return super().opened(file)
        named = dataclasses.replace(self, column_names=self.column_names or ("image", "caption"))
        table = super(ReadCaptionList, named).opened(file)
        return dataclasses.replace(table, cells=Cells(numbered="image"))


def _is_numbered(path: str) -> bool:
    return bool(_NUMBERED.match(head(path)))


def _is_list(path: str) -> bool:
    start = head(path).removeprefix(b"\xef\xbb\xbf")
    return bool(_NUMBERED.match(start) or _HEADER.match(start))


def claim_captions(tree: Tree, config: BuildConfig) -> Claim | None:
    """Lists of captions; or texts beside images."""
    is_named = config.layout == "captions"
    if not tree.is_folder:
        is_list = suffix(tree.input) not in ("csv", "tsv") and _is_list(tree.input)
        if not tree.is_file or not (is_named or is_list):
            return None
        return _claim(Rank.TABLE, tree.input, name_of(tree.input))
    lists = [
        path
        for path in sorted(tree.files())
        if _NAME.fullmatch(path.rpartition("/")[2]) and _is_list(tree.path(path))
    ]
    if lists:
        return _of_lists(lists, tree)
    counts = texts_beside(tree, CaptionFiles())
    if is_named and tree.files_with(CaptionFiles.suffix):
        counts = counts or {"": 0}
    if not counts or (tree.only_folder and not is_named):
        return None
    rank = Rank.NAMED_TABLE if all(map(is_numbered, counts)) else Rank.TABLE
    return _claim(rank, tree.root, tree.told(counts, CaptionFiles.noun))


def _claim(rank: Rank, path: str, what: str) -> Claim:
    return Claim(layout="captions", rank=rank, path=path, understood=(("captions", what),))


def _of_lists(lists: Sequence[str], tree: Tree) -> Claim:
    first = lists[0]
    splits = [joined(folder(first), name) for name in _split_lists(tree, folder(first))]
    what = f"captions in {first}" + (f", splits in {', '.join(splits)}" if splits else "")
    ways = tuple(map(tree.path, lists))
    facts = {"path": tree.root, "number": len(lists), "ways": "; ".join(lists)}
    return dataclasses.replace(
        _claim(Rank.NAMED_TABLE, tree.path(first), what),
        reads=tuple(name_of(path) for path in (first, *splits)),
        problem=Problem(code="ambiguous", facts=facts, option="input", choices=ways)
        if len(lists) > 1
        else None,
    )


def _split_lists(tree: Tree, place: str) -> dict[str, str]:
    """Splits by the names of lists of images beside a list of captions: Flickr_8k.trainImages."""
    found = {
        name: split
        for name in tree.look(place).files
        if name.lower().endswith("images.txt") and (split := split_in_name(name))
    }
    return found if len(set(found.values())) == len(found) else {}


def read_captions(claim: Claim, config: BuildConfig, scratch: str) -> beam.PTransform:
    """Return what reads captions: a list, or a folder of images with texts beside."""
    path = claim.path
    if storage.is_directory(path):
        if config.image_root:
            raise ConfigError(
                f"--image-root {config.image_root} is for a list of captions, and {path} has texts "
                "next to images; leave it out, or give the list as the input"
            )
        ignored = Ignored.of(config, path)
        return ReadSideFiles.of(path, CaptionFiles(), ignored)
    source: ReadCaptionList = reading(ReadCaptionList)(claim, config, scratch)
    top = config.input if storage.is_directory(config.input) else parent(path)
    source = dataclasses.replace(source, image_root=config.image_root or _image_root(source, top))
    place = parent(path)
    lists = [
        SplitList(path=storage.join(place, name), name=name, split=split)
        for name, split in _split_lists(Tree(place, Ignored.of(config, path)), "").items()
    ]
    if not lists or config.split_list:
        return source
    return WithSplits(source, lists, (source.image_root or place,))


def _image_root(source: ReadCaptionList, top: str) -> str:
    """Return the folder below `top` that has the images of a list."""
    plan, _ = dataclasses.replace(source, image_root=top).plan()
    names = (row.values.get(plan.roles.key) for row in plan.sample.rows)
    found = (FileIndex.of(top).find(name) for name in names if isinstance(name, str))
    key = next(filter(None, found), "")
    return storage.join(top, folder(key)) if folder(key) else top


LAYOUT = Layout(
    name="captions",
    sign="captions.txt, results.csv or *.token.txt of captions, or .txt files next to their images",
    read=read_captions,
    takes=("image_root",),  # for more, --layout csv
    claim=claim_captions,
)

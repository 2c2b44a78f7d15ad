"""The transform that reads the configured input."""

import dataclasses
from typing import Any

import apache_beam as beam
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.files.archive.paths import inside
from beam_pipeline.layout_names import AUTO
from beam_pipeline.sources.archives import placed, through_archives
from beam_pipeline.sources.detect import detect
from beam_pipeline.sources.folders.read_folders import ReadClassFolders
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.layout import Claim, Layout
from beam_pipeline.sources.paths import input_folder
from beam_pipeline.sources.references import parent
from beam_pipeline.sources.registry import layout_named, own_layouts
from beam_pipeline.sources.split_lists import SplitList, WithSplits
from beam_pipeline.sources.tree import Tree
from beam_pipeline.sources.unread import AccountForFiles, Lists
from tfrecord_dataset.options import all_options


def find_input(config: BuildConfig, scratch: str = "") -> Claim:
    """Find what to read of the configured input, by the named layout or the detected one.

    Args:
        config: The build's configuration.
        scratch: The folder to unpack a compressed tar in; "" refuses it.

    Raises:
        ConfigError: There is no input, or it is not of the named or any known layout.
    """
    if config.layout != AUTO:
        _check_options(config, layout_named(config.layout))
    if not config.input:
        raise ConfigError("an input is needed: a folder, an annotation file or a manifest")
    _check_allowed(config)
    config = through_archives(config, scratch)
    claim = detect(config)
    _check_options(config, layout_named(claim.layout))
    _check_ignored(config)
    return claim


def _check_allowed(config: BuildConfig) -> None:
    """Raise ConfigError for a folder of `--allow-outside` that does not exist; stores pass."""
    for folder in config.allow_outside:
        if not storage.is_remote(folder) and not storage.exists(folder):
            raise ConfigError(
                f"--allow-outside {folder} does not exist; give the folder of the files that the "
                "annotations name"
            )


def _check_ignored(config: BuildConfig) -> None:
    """Raise ConfigError for a pattern of `--ignore` that matches nothing, such as a typo."""
    if not config.ignore or not storage.is_directory(config.input):
        return
    tree = Tree(config.input, Ignored(config.ignore))
    fitting = frozenset().union(*(each.ignored for each in tree.walked.values()))
    if tree.is_known and (missing := sorted(set(config.ignore) - fitting)):
        raise ConfigError(
            f"--ignore {missing[0]!r} fits no file or folder below {config.input} (it holds "
            f"{tree.look()}); give a name, a path below the input, or a pattern of * and ?"
        )


def _check_options(config: BuildConfig, layout: Layout) -> None:
    """Raise ConfigError for an option of other layouts, which this one would not use."""
    if layout.takes is None:
        return
    takers: dict[str, list[str]] = {}
    for each in own_layouts().values():
        for option in each.takes or ():
            takers.setdefault(option, []).append(each.name)
    for field in dataclasses.fields(config):
        option, value = field.name, getattr(config, field.name)
        if option in layout.takes or option not in takers or value in (field.default, ()):
            continue
        few = ", ".join(takers[option][:3]) + (", …" if takers[option][3:] else "")
        raise ConfigError(
            f"{all_options(BuildConfig)[option].label} is for {few}, and the "
            f"input is read as {layout.name}; leave it out, or set layout (--layout)"
        )


def complete(config: BuildConfig, claim: Claim) -> BuildConfig:
    """Add the layout and the options of the claim that the user has not set."""
    decided = {
        field.name: claim.options[field.name]
        for field in dataclasses.fields(config)
        # A schema that is given is completed with the keys of records.
        if field.name in claim.options
        and (getattr(config, field.name) in (field.default, ()) or field.name == "schema")
    }
    return dataclasses.replace(config, layout=claim.layout, **decided)


def source_of(config: BuildConfig, claim: Claim, scratch: str) -> beam.PTransform:
    """Make the transform that reads the configured input.

    Compressed inputs that must be plain files are unpacked into the folder `scratch`; members of
    archives are read in place.
    """
    config = through_archives(config, scratch)
    reader: beam.PTransform = layout_named(claim.layout).read(claim, config, scratch)
    source = reader
    is_whole = claim.path == config.input and isinstance(source, ReadClassFolders)
    if is_whole:
        source.is_whole = True
    if named := config.split_list or claim.options.get("split_list", ()):
        homes = [
            path if storage.is_directory(path) else parent(path)
            for path in (claim.path, config.input)
        ]
        roots = dict.fromkeys(filter(None, (*homes, config.image_root)))
        split_lists = [SplitList.parse(each, homes[1]) for each in named]
        source = WithSplits(source, split_lists, tuple(roots))
    if storage.is_directory(config.input) and not is_whole:
        root = input_folder(config.input)
        base = claim.path if storage.is_directory(claim.path) else parent(claim.path)
        reads = tuple(storage.join(base, path) for path in claim.reads)
        lists = reader if isinstance(reader, Lists) else None
        source = AccountForFiles(source, root, base, reads, Ignored(config.ignore), lists)
    return ReadPlaced(source) if any(map(inside, config.inputs)) else source


@dataclasses.dataclass
class ReadPlaced(beam.PTransform):
    """Elements of a source whose files have their location in an archive."""

    source: beam.PTransform

    @no_annotations  # Beam allows only PCollections in hints
    def expand(self, pipeline: beam.pvalue.PBegin) -> Any:
        source_elements = pipeline | "Source" >> self.source  # Element, and perhaps Rejected
        elements, *unread = (
            source_elements if isinstance(source_elements, tuple) else (source_elements,)
        )
        in_place = elements | "PlaceMembers" >> beam.Map(placed)  # Element
        return (in_place, *unread) if unread else in_place

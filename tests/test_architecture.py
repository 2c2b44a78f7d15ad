"""Imports between modules have one direction."""

import ast
import functools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Bottom up: a module imports from lines above its own, or from its own folder.
LAYERS = {
    "tfrecord_dataset": """
        shown_text delimited cells
        posix_only page private_parts
        errors durable image_size map_colors
        extras regular_files seekable standard_streams interrupts
        foreign_errors plugins
        json_file
        options
        command_line
        store
        inner_paths
        format
        values
        records
        __init__
    """,
    "tfrecord_dataset.format": """
        split_names value_forms inflation
        feature example frames
        example_columns feature_keys
        declaration
        inference
        metadata
        __init__
    """,
    "tfrecord_dataset.records": """
        shard_files
        index identities
        reader contents
        opening
        access
        __init__
    """,
    "beam_pipeline": """
        errors beam_import outlines private_parts
        records
        batch
        files
        tfrecord
        media
        kinds
        schema
        running
        inspect option_values
        build_options build_arguments
        config
        problems
        recipe
        sources assign
        describe
        dataset
        write
        report
        pipeline
        cli
        __init__ __main__
    """,
    "beam_pipeline.sources": """
        paths rejects
        splits unpacking json_items
        archives tree
        listing gather file_index
        unread
        layout
        tables
        annotations
        folders
        masks
        texts
        tar arrays idx tfrecord
        questions
        registry
        inputs
        __init__
    """,
    "trainer": """
        errors tensors startup order private_parts task_kinds
        workers
        metrics model
        progress
        options raw_rows
        views
        parsing
        augmentation
        image_cache
        input_pipeline
        dataset
        tasks
        training report
        runs
        predicting exporting tuner
        api commands
        __init__ __main__
    """,
}


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """Return all nodes of a file's syntax tree."""
    return [*ast.walk(ast.parse(path.read_text()))]


def imports(path: Path) -> Iterator[str]:
    """Yield the full names of the modules that a file imports."""
    for node in nodes(path):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{name.name}" for name in names)


def rooms(package: str) -> dict[str, list[Path]]:
    """Return the files of each module or folder directly below a package."""
    found: dict[str, list[Path]] = {}
    folder = ROOT / package.replace(".", "/")
    for path in folder.rglob("*.py"):
        room = path.relative_to(folder).parts[0].removesuffix(".py")
        found.setdefault(room, []).append(path)
    return found


@pytest.mark.parametrize("package", LAYERS)
def test_every_module_has_a_place(package):
    assert sorted(LAYERS[package].split()) == sorted(rooms(package))


@pytest.mark.parametrize("package", LAYERS)
def test_imports_point_one_way(package):
    height = {
        name: number
        for number, line in enumerate(LAYERS[package].split("\n"))
        for name in line.split()
    }
    depth = package.count(".") + 1
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for room, paths in rooms(package).items()
        for path in paths
        for module in imports(path)
        if module.startswith(f"{package}.")
        and (target := module.split(".")[depth]) in height
        and target != room
        and height[target] >= height[room]
    ]
    assert wrong == []


def imported(package: str, is_wrong: Callable[[Path, str], bool]) -> list[str]:
    """Return the wrong imports of a package."""
    return [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in (ROOT / package).rglob("*.py")
        for module in imports(path)
        if is_wrong(path, module)
    ]


@pytest.mark.parametrize(
    ("package", "others"),
    [
        ("tfrecord_dataset", ("beam_pipeline", "trainer")),
        ("beam_pipeline", ("trainer",)),
        ("trainer", ("beam_pipeline",)),
    ],
)
def test_the_packages_share_only_tfrecord_dataset(package, others):
    assert imported(package, lambda _, module: module.split(".")[0] in others) == []


def test_only_targets_know_their_kind():
    own = ROOT / "trainer" / "tasks" / "targets"
    names = {"BoxesTarget", "ManyClasses", "MultiHot", "NumberTarget", "OneClass"}
    wrong = imported(
        "trainer", lambda path, module: path.parent != own and module.split(".")[-1] in names
    )
    assert wrong == []


def test_each_public_class_has_a_name_of_its_own():
    names = Counter(
        node.name
        for package in ("tfrecord_dataset", "beam_pipeline", "trainer")
        for path in (ROOT / package).rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    # Each package opens its own, with what it is for.
    assert [name for name, number in names.items() if number > 1] == ["Dataset"]


@pytest.mark.parametrize("package", ["tfrecord_dataset", "beam_pipeline", "trainer"])
def test_each_module_of_a_package_has_a_file_name_of_its_own(package):
    names = Counter(path.name for path in (ROOT / package).rglob("[!_]*.py"))
    assert [name for name, number in names.items() if number > 1] == []


# Classes of values, and kinds of features; only kinds/ may choose between several of them.
VALUES = {
    *("Image", "Map", "Audio", "Array", "RawFile", "ClassLabel", "ClassLabels", "Objects"),
    "ListSummary",
}
KINDS = {
    *("image", "map", "audio", "class_label", "boxes", "tensor", "sequence", "text", "bytes"),
    "scalar",
}
# Cells of tables become values of the declared kind, so these readers distinguish kinds.
READERS_OF_CELLS = {"sources/tables/fit.py"}


def told_apart(path: Path) -> set[str]:
    """Return the classes of values and kinds of features in a module's matches."""
    classes: set[str] = set()
    kinds: set[str] = set()
    for node in nodes(path):
        match node:
            case (
                ast.MatchClass(cls=named)
                | ast.Call(func=ast.Name(id="isinstance"), args=[_, named])
            ):
                classes |= {each.id for each in ast.walk(named) if isinstance(each, ast.Name)}
            case ast.match_case(pattern=pattern):
                kinds |= {
                    each.value.value
                    for each in ast.walk(pattern)
                    if isinstance(each, ast.MatchValue) and isinstance(each.value, ast.Constant)
                }
    chosen = (classes & VALUES, kinds & KINDS)
    return set().union(*(each for each in chosen if len(each) > 1))


def test_only_kinds_tell_kinds_apart():
    folder = ROOT / "beam_pipeline"
    found = {
        name: told
        for path in folder.rglob("*.py")
        if (told := told_apart(path))
        and not (name := path.relative_to(folder).as_posix()).startswith("kinds/")
    }
    assert found.keys() == READERS_OF_CELLS


# Other modules of the trainer that check a kind, which users declare or name.
ASK_FOR_KINDS = {
    "dataset/opening.py",
    "tasks/choice.py",
    "tasks/feature_roles.py",
    "tasks/table_columns.py",
}


def asked_for(path: Path) -> set[str]:
    """Return the kinds of features in a module's comparisons."""
    return KINDS & {
        each.value
        for node in nodes(path)
        if isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Attribute)
        and node.left.attr == "kind"
        for side in node.comparators
        for each in ast.walk(side)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }


def test_only_inputs_targets_and_parsers_ask_for_the_kind_of_a_feature():
    folder = ROOT / "trainer"
    own = ("tasks/inputs/", "tasks/targets/", "parsing/")
    found = {
        name
        for path in folder.rglob("*.py")
        if not (name := path.relative_to(folder).as_posix()).startswith(own) and asked_for(path)
    }
    assert found == ASK_FOR_KINDS

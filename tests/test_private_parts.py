"""Private parts of other projects: each is in the table, and in the installed version."""

import ast
import functools
import importlib
import importlib.util
import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OWN = ("beam_pipeline", "tfrecord_dataset", "trainer")
TABLES = {
    package: importlib.import_module(f"{package}.private_parts").PRIVATE_PARTS for package in OWN
}
# Public in spite of their names: of namedtuples and of `os`.
PUBLIC = {"_replace", "_asdict", "_make", "_fields", "_exit"}
# Modules that their projects' guides do not name; `PipelineRunner` is the type of any runner.
INTERNAL = re.compile(
    r"keras\.src|tensorflow\.(python|core|compiler)|apache_beam\.(runners\.(?!runner\b)|internal|portability|utils|"
    r"options\.(pipeline_options_validator|value_provider))"
)


@pytest.mark.parametrize(
    "part", [*itertools.chain(*TABLES.values())], ids=lambda part: f"{part.module}.{part.name}"
)
def test_the_installed_version_has_it(part):
    """A release that moves it needs another way, or its row goes with its use."""
    try:
        module = importlib.import_module(part.module)
    except ImportError as error:
        if (error.name or "").startswith("google"):
            pytest.skip("Google's libraries are not installed")
        raise
    found = functools.reduce(_member, part.name.split("."), module)
    assert found is not None, f"{part.use}; without it, {part.without}"


def _member(owner: object, name: str) -> object:
    """Return an attribute; of "Class()" an instance."""
    called, has_call, argument = name.partition("(")
    member = getattr(owner, called)
    return member(*map(int, filter(None, [argument.rstrip(")")]))) if has_call else member


@pytest.mark.parametrize("package", OWN)
def test_the_table_has_all_that_is_used(package):
    table, paths = TABLES[package], [*(ROOT / package).rglob("*.py")]
    listed = {(part.module, part.name.split(".")[0]) for part in table}
    names = {name for part in table for name in part.name.split(".")}
    used = {use for path in paths for use in private_uses(path)}

    assert {(module, name) for module, name in used - listed if name not in names} == set()
    others = [path for path in paths if path.name != "private_parts.py"]
    text = "".join(path.read_text(encoding="utf-8") for path in others)
    assert [part for part in table if part.name.rpartition(".")[2] not in text] == []


def private_uses(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of uses of private modules, ("", name) of private attributes."""
    modules: dict[str, str] = {}
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from _imported(node.module, node.names, modules)
        elif isinstance(node, ast.Import):
            modules |= {each.name: each.name for each in node.names if is_private(each.name)}
    for node in nodes(path):
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            if owner in modules:
                yield modules[owner], node.attr
            elif is_private_name(node.attr):
                own = _defined(path) if owner != "self" else own_names()
                if node.attr not in own:
                    yield "", node.attr


def _imported(
    module: str, names: list[ast.alias], modules: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield what is imported of a private module; add modules by their names in the file."""
    for name in names:
        full = f"{module}.{name.name}"
        if module.startswith(OWN) or not is_private(full):
            continue
        if _is_module(full):
            modules[name.asname or name.name] = full
        else:
            yield module, name.name


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def is_private(name: str) -> bool:
    """Whether the full name of a module or member of another project is private."""
    return bool(INTERNAL.match(name)) or any(map(is_private_name, name.split(".")))


def is_private_name(name: str) -> bool:
    """Whether a name begins with one underscore, or is that of a function's defaults."""
    return name == "__defaults__" or bool(re.match("_[^_]", name) and name not in PUBLIC)


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """Return all nodes of a file's syntax tree."""
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


@functools.cache
def own_names() -> frozenset[str]:
    """Return the names that our packages define."""
    return frozenset().union(
        *(_defined(path) for name in OWN for path in (ROOT / name).rglob("*.py"))
    )


@functools.cache
def _defined(path: Path) -> frozenset[str]:
    """Return the functions, classes, fields and attributes of its own that a file defines."""
    found: set[str] = set()
    for node in nodes(path):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Attribute(value=ast.Name(id="self") | ast.Attribute(), ctx=ast.Store()):
                found.add(node.attr)
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return frozenset(found - {"__defaults__"})


@pytest.mark.parametrize(
    ("library", "times"), [("apache-beam", 2), ("keras", 2), ("tensorflow", 1)]
)
def test_a_library_with_private_parts_has_an_upper_bound(library, times):
    """Up to the release that passes these tests; `make test` with the next one raises it."""
    installed = importlib.import_module(library.replace("-", "_")).__version__.split(".")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    of_library = [line for line in lines if re.match(rf"{library}(?![-\w])", line)]
    bounds = [line.partition("<")[2] for line in of_library]
    assert bounds == [f"{installed[0]}.{int(installed[1]) + 1}"] * times

"""Environments with one package and its declared dependencies, made in a second."""

import importlib.metadata
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.requirements import Requirement


def make_environment(folder: Path, package: Path) -> Path:
    """Make an environment with a source distribution, and return its Python.

    Dependencies are linked from the tests' environment, since pip would take minutes.

    Raises:
        PackageNotFoundError: The tests' environment lacks a dependency.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin/python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, package], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (found,) = importlib.metadata.distributions(name="beam-tfrecords", path=[str(site)])
    for needed in _needed(found.requires or ()):
        for file in needed.files or ():
            target = site / file
            if ".." not in file.parts and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(file.locate())
    return python


def _needed(requirements: Iterable[str]) -> Iterator[importlib.metadata.Distribution]:
    """Yield the distributions of these requirements and their dependencies."""
    seen: set[str] = set()
    waiting = list(map(Requirement, requirements))
    while waiting:
        requirement = waiting.pop()
        extras = {"", *requirement.extras}
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        name = f"{requirement.name}[{','.join(sorted(requirement.extras))}]"
        if name in seen:
            continue
        seen.add(name)
        distribution = importlib.metadata.distribution(requirement.name)
        yield distribution
        for text in distribution.requires or ():
            below = Requirement(text)
            if below.marker is None or any(
                below.marker.evaluate({"extra": extra}) for extra in extras
            ):
                below.marker = None
                waiting.append(below)

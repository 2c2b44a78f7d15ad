"""Prints what an image installs before the package itself: pyproject.toml's requirements.

    python requirements.py PYPROJECT [--extra NAME] [--without PROJECT]

Images so keep the layer of their dependencies while only the code changes.
"""

import argparse
import re
import tomllib
from collections.abc import Container, Sequence
from typing import Any


def requirements(
    project: dict[str, Any], extras: Sequence[str], without: Container[str]
) -> list[str]:
    """The requirements of a project and some of its extras, less those of some projects.

    Args:
        project: The table `project` of a pyproject.toml.
        extras: Names of optional dependencies.
        without: Names of projects, as the requirements write them.
    """
    optional = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(line for extra in extras for line in optional[extra])]
    return [line for line in wanted if re.split(r"[^\w.-]", line)[0] not in without]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pyproject")
    parser.add_argument("--extra", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    arguments = parser.parse_args()
    with open(arguments.pyproject, "rb") as file:
        project = tomllib.load(file)["project"]
    print(*requirements(project, arguments.extra, arguments.without), sep="\n")


if __name__ == "__main__":
    main()

"""Private parts of other projects, one table per package; this package uses some of Python's.

A private part has a name that begins with an underscore, or is in a module that its project does
not document, so that any release may move it. `tests/test_private_parts.py` fails for each one that
the installed version lacks, and for each use that a table lacks.
"""

from typing import NamedTuple


class PrivatePart(NamedTuple):
    """A name in a module that another project may change without notice.

    Attributes:
        module: Module that contains it.
        name: Its dotted name in the module; "Class()" stands for an instance.
        use: Why it is used.
        without: What a user would notice if it were gone.
    """

    module: str
    name: str
    use: str
    without: str


PRIVATE_PARTS = (
    PrivatePart(
        "argparse",
        "ArgumentParser()._option_string_actions",
        "names of options, to propose one for a misspelt one",
        "a misspelt option is refused without a proposal",
    ),
    PrivatePart(
        "argparse",
        "ArgumentParser()._actions",
        "options of a command, for its help and for those that other commands have",
        "the help lists options without their groups",
    ),
    PrivatePart(
        "argparse",
        "_ActionsContainer",
        "the type of a parser and of its groups, to which options are added",
        "no command starts",
    ),
    PrivatePart(
        "argparse",
        "_SubParsersAction",
        "the type of a program's commands",
        "no command starts",
    ),
    PrivatePart(
        "sys",
        "_current_frames",
        "whether a thread waits for a store's response when Ctrl-C is pressed",
        "Ctrl-C ends a command on a store only after the request",
    ),
)

"""Options declared once: parsing by a command, its help, and the documentation."""

import argparse
import dataclasses
from collections.abc import Mapping
from typing import Annotated

import pytest

from tfrecord_dataset.command_line import Parser, add_options
from tfrecord_dataset.errors import ConfigError, UnknownNameError
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.options import (
    Group,
    Option,
    Options,
    arguments_of,
    parse_bytes,
    takes_options,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(Options):
    files: Annotated[tuple[str, ...], Option("what to read", is_positional=True)]
    output: Annotated[str, Option("where to", metavar="DIR")]
    steps: Annotated[int, Option("how often", least=1), Group("how")] = 10
    rate: Annotated[float, Option("how fast", above=0)] = 1e-3
    size: Annotated[ImageSize | None, Option("how large (default: as it is)")] = None
    names: Annotated[tuple[str, ...] | None, Option("of features", metavar="A,B")] = None
    pad: Annotated[Mapping[str, int], Option("lengths", metavar="A=N,…", least=1)] = (
        dataclasses.field(default_factory=dict)
    )
    space: Annotated[int | None, Option("100 % at most", parse=parse_bytes, metavar="SIZE")] = None
    kind: Annotated[str, Option("one of them", flag="--as", choices=("one", "two"))] = "one"
    quiet: Annotated[bool, Option("say nothing")] = False


def parsed(*words, owner=Config):
    parser = Parser(prog="it")
    commands = parser.add_subparsers(dest="command")
    add_options(commands.add_parser("run"), owner)
    return parser.read_command(["run", *words], {"run": owner}).values


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--steps 3", {"steps": 3}),
        ("--rate 1", {"rate": 1.0}),
        ("--size 64", {"size": (64, 64)}),
        ("--size 64X48", {"size": (48, 64)}),
        ("--names a,b/c", {"names": ("a", "b/c")}),
        ("--pad a=3,b/c=40", {"pad": {"a": 3, "b/c": 40}}),
        ("--pad a=b=3", {"pad": {"a=b": 3}}),
        ("--space 50GB", {"space": 50_000_000_000}),
        *(
            (f"--space {text}", {"space": number})
            for text, number in (
                ("4096", 4096),
                ("10b", 10),
                ("1.5MiB", 3 << 19),
                ("128mib", 128 << 20),
                ("1.5gb", 1_500_000_000),
                ("64M", 64 << 20),
                ("2TiB", 2 << 40),
            )
        ),
        ("--as two", {"kind": "two"}),
        ("--quiet", {"quiet": True}),
        ("", {}),
        ("--steps 1.5", "steps (--steps): '1.5' is not a whole number; give one, such as 10"),
        ("--steps 0", "steps (--steps): 0 is out of bounds; give a number from 1"),
        (
            f"--steps {1 << 63}",
            f"steps (--steps): {1 << 63} is out of bounds; give a number from 1 to "
            "9,223,372,036,854,775,807",
        ),
        ("--rate x", "rate (--rate): 'x' is not a number; give one, such as 0.1"),
        ("--rate nan", "rate (--rate): nan is out of bounds; give a number above 0"),
        ("--rate 0", "rate (--rate): 0 is out of bounds; give a number above 0"),
        ("--rate inf", "rate (--rate): inf is out of bounds"),
        ("--size 64x", "size (--size): '64x' cannot be read; give a side (64) or WIDTHxHEIGHT"),
        ("--size 0", "size (--size): '0' cannot be read"),
        ("--names a,", "names (--names): 'a,' has an empty name; separate names with commas: a,b"),
        *(
            (
                f"--pad {text}",
                f"pad (--pad): '{text}' cannot be read; give each input once: sequence=128",
            )
            for text in ("a", "a=", "=3", "a=-3", "a=3,a=4", "a=3,")
        ),
        ("--pad a=0", "pad (--pad): 'a=0' is out of bounds; give a number from 1"),
        *(
            (
                f"--space={text}",
                f"space (--space): '{text}' is not a size; write it as 128MiB or 50GB",
            )
            for text in ("much", "", "1.2.3MB", "-5MB", ".", "MiB")
        ),
        ("--as tow", "unknown kind (--as) 'tow' (did you mean 'two'?); choose from: one, two"),
    ],
)
def test_a_command_line(words, expected):
    if isinstance(expected, str):
        with pytest.raises(ConfigError) as error:
            parsed("a", "b", "--output", "o", *words.split())
        assert str(error.value).startswith(expected)
    else:
        given = parsed("a", "b", "--output", "o", *words.split())
        assert given == {"files": ("a", "b"), "output": "o", **expected}
        assert {name: getattr(Config(**given), name) for name in expected} == expected


def test_help_has_the_defaults():
    parser = argparse.ArgumentParser(prog="it", formatter_class=argparse.RawTextHelpFormatter)
    add_options(parser, Config)
    shown_help = " ".join(parser.format_help().split())

    assert "positional arguments: files what to read" in shown_help
    assert "--output DIR where to" in shown_help
    assert "how: --steps N how often (default: 10) --rate N how fast (default: 0.001)" in shown_help
    assert "--size SIDE|WxH how large (default: as it is)" in shown_help
    assert "--space SIZE 100 % at most --as {one,two} one of them (default: one)" in shown_help


def test_a_function_that_takes_them():
    @takes_options(Config)
    def run(files, *, output="here", **options):
        """Runs."""

    assert str(run.__signature__).startswith("(files, *, output='here', steps=10, rate=0.001, ")
    assert "\nhow:\n    steps: how often (default: 10)\n    rate: how fast (" in run.__doc__


def test_a_name_of_no_choice_lists_them():
    with pytest.raises(UnknownNameError, match="choose from: one, two"):
        Config(files=["a"], output="o", kind=3)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Whole(Options):
    """Options, including one of a part and one of recipes."""

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Part(Options):
        side: Annotated[int | None, Option("longest", flag="--part-side", least=1, most=9)] = None

    name: Annotated[str, Option("its name", other_flag="--called"), Group("last")] = ""
    layout: Annotated[str, Option("known late", choices=lambda: ("a", "b")), Group("first")] = "a"
    rare: Annotated[int, Option("seldom needed", recipe_only=True)] = 3
    part: Part = Part()


def test_a_part_has_flags_of_its_own():
    given = parsed("--part-side", "9", "--called", "x", owner=Whole)

    assert given == {"part.side": 9, "name": "x"}
    assert arguments_of(Whole, given) == {"name": "x", "part": Whole.Part(side=9)}
    with pytest.raises(UnknownNameError, match="choose from: a, b"):
        parsed("--layout", "c", owner=Whole)
    with pytest.raises(ConfigError, match=r"side \(--part-side\): 10 is out of bounds; .* 1 to 9"):
        Whole.Part(side=10)


def test_groups_come_in_the_order_of_the_headings():
    parser = argparse.ArgumentParser(prog="it")
    add_options(parser, Whole, headings=["first", "last"])
    assert parser.format_help().index("first:") < parser.format_help().index("last:")

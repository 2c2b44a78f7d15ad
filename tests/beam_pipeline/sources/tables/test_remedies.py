"""The remedies in messages about tables can be typed, and end the refusal."""

import re
import shlex

import pytest
from cases.inputs import make

from beam_pipeline.cli import commands

NUMBERS = "".join(f"{number},a\\n" for number in range(2000))

# (files of the input, options, start of the message, lines of a recipe before the remedy)
CASES = [
    pytest.param(
        "== t.csv\nx;y\n1.234;1,5\n2.345;2,5", "", "may separate thousands",
        "decimal_comma: true", id="points",
    ),
    pytest.param(
        "== t.csv\nx,y\n1,a\n,b", "--missing-numbers reject", "column 'x' is empty", "", id="gaps"
    ),
    pytest.param(
        f"== t.csv escaped\nx,y\\n{NUMBERS}3O,b\\n", "", "column 'x' is '3O'", "", id="a text"
    ),
    pytest.param("== t.csv\nx,split\n1,0\n2,1", "", "has numbers, not names", "", id="splits"),
    pytest.param(
        "== t.csv\nfile,a\na.jpg,1\n== x/a.jpg\n== y/a.jpg", "", "names x/a.jpg and y/a.jpg", "",
        id="a template",
    ),
    pytest.param(
        "== t.csv\nimage,color,shape\n" + "a.jpg,red,round\na.jpg,blue,square\n" * 3 + "== a.jpg",
        "", "several columns may be the label", "", id="labels",
    ),
    pytest.param(
        "== train.csv\nx,y,the size\n1,a,2.5\n== test.csv\nx,y\n1,a", "--label-column y",
        "but in other tables", "", id="a column of one table",
    ),
    pytest.param(
        '== t.jsonl\n{"x": 1, "a b": 1}\n{"x": 2, "a b": {}}', "", "unlike other rows", "",
        id="a value unlike others",
    ),
    pytest.param(
        '== t.jsonl\n{"x": 1, "a b": [["c"]]}\n{"x": 2}', "", "not a list of plain values", "",
        id="a value of no feature",
    ),
    pytest.param(
        "== t.csv\nimage,image/a b\na.jpg,1\n== a.jpg", "", "has the name of the feature", "",
        id="the name of a feature",
    ),
]  # fmt: skip
_LINE = re.compile(r"in a recipe: `([^`]+)`")
_OPTION = re.compile(r"(--[a-z-]+)(?: \(--[a-z-]+\))? ('[^']*'|[^\s,;)]+)")
_SET = re.compile(r"set \w+ \((--[a-z-]+)\) to ([^\s,]+)")


def planned(folder, recipe, options, capsys):
    """Return the exit code and the messages of `plan`."""
    path = folder / "r.yaml"
    path.write_text(f"input: input\n{recipe}\n")
    code = commands.main(["plan", str(path), *shlex.split(options)])
    shown = capsys.readouterr()
    return code, shown.out + shown.err


@pytest.mark.parametrize(("files", "options", "message", "lines"), CASES)
def test_a_remedy_is_typed(tmp_path, capsys, files, options, message, lines):
    (tmp_path / "described").write_text(f"{files}\n")
    make(tmp_path / "described", tmp_path / "input")
    code, shown = planned(tmp_path, lines, options, capsys)
    assert code in (2, 3)
    assert message in shown
    problem = shown[shown.index(message) :]

    if line := _LINE.search(problem):
        kept = "" if line[1].partition(":")[0] in lines else lines
        code, shown = planned(tmp_path, f"{kept}\n{line[1]}", options, capsys)
    else:
        found = _SET.search(problem) or _OPTION.search(problem)
        given = options if found[1] not in options else ""
        code, shown = planned(tmp_path, lines, f"{given} {found[1]} {found[2]}", capsys)

    assert message not in shown
    assert code == 0 or "empty file" in shown, shown  # images are empty here

"""Every remedy that a case's error proposes to type leads on, typed as it stands."""

import json
import re
import shlex
import subprocess
import sys

import pytest
import yaml
from eager_runner import yielded

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.records import Rejected
from cases.inputs import make
from cases.reading import options_of_case, source_at
from cases.test_cases import CASES, is_file
from tfrecord_dataset.options import all_options

REFUSED = [name for name, case in CASES.items() if is_file(case, "error")]
OPTIONS = all_options(BuildConfig)

# Remedies that no option can be: by a part of the message, and why.
NOT_TYPED = {
    r"(; | )(fix|rename|remove|correct) ": "a file or folder of the input is changed",
    r"(; |, and )(put|write|unite|list) ": "a file of the input is written",
    r"(; |, )(make|give|name) (them|a list|every|so many|one|two|the folder)": "a file is changed",
    r"; it (has|is|needs) ": "a file says what its format does not allow",
    r"; (fetch|save) it again": "a file is damaged",
    r"(is not YAML|is an alias|the same column|names no columns)": "a file is changed",
    r"there (are|is) '|choose from|did you mean|name another": "the option has a wrong value",
    r"does not exist|fits no file": "the option names what is not there",
    r"save it as UTF-8": "a file of the input is written",
    r"unpack it once": "a command of Python's, which a test below types",
    r"has no known layout": "no layout reads any of it",
}


# What the words of an option end with in a sentence.
_END = r"(?:$|;|, or| or (?=--)| to | if )"


def typed_in(message):
    """The options that a message says to pass, or to write in a recipe."""
    lines = re.findall(r"`(\w+: [^`]+)`", message)
    options = re.findall(rf"\b(?:pass|with|or|else) (--[\w-]+ [^ ].*?){_END}", message)
    return options + [as_option(*each) for line in lines for each in yaml.safe_load(line).items()]


def as_option(name, value):
    """A line of a recipe as on a command line."""
    text = ",".join(value) if isinstance(value, list) else str(value)
    return f"{OPTIONS[name].flag} {shlex.quote(text)}"


def readings_of(error):
    """The readings among which a question asks to choose."""
    problem = getattr(error, "problem", None)
    return problem.readings if problem else []


def typed(error):
    """The words that an error proposes after the case's options."""
    problem = getattr(error, "problem", None)
    if readings := readings_of(error):
        return [reading.typed for reading in readings]
    if problem and problem.option in OPTIONS:
        field = OPTIONS[problem.option]
        if field.kind is bool:
            return [field.flag]
        return [f"{field.flag} {shlex.quote(choice)}" for choice in problem.choices]
    return typed_in(str(error))


def without_option(message, options):
    """The case's options without the one that a message says to leave out."""
    if left_out := re.search(r"; leave out (\w+)", message):
        option = OPTIONS[left_out[1]].flag
    elif "leave it out, or" in message:
        option = re.search(r"--[\w-]+", message)[0]
    else:
        return []
    return [re.sub(rf"{option} \S+", "", options)]


def refusal(root, options):
    """The error of reading an input; None if it is read."""
    try:
        yielded(source_at(root, options)[1])
    except BeamTFRecordsError as error:
        return error
    return None


@pytest.mark.parametrize("name", REFUSED)
def test_a_remedy_that_is_typed_leads_on(tmp_path, name):
    """The input is read, or another question is asked."""
    root = tmp_path / "input"
    make(CASES[name] / "input", root)
    options = options_of_case(CASES[name])
    error = refusal(root, options)
    message = str(error)
    remedies = [f"{options} {words}" for words in typed(error)]
    remedies += re.findall(r"(?:give|such as) '?(\S+/input/\S+?)'?(?:,| to |$)", message)
    remedies += without_option(message, options)
    assert remedies or any(re.search(part, message) for part in NOT_TYPED), message
    for words in remedies:
        after = refusal(root, words)
        assert after is None or not readings_of(error), words
        assert after is None or str(after).partition("; ")[0] != message.partition("; ")[0], words


REJECTS = {
    name: [json.loads(line) for line in (case / "rejects.jsonl").read_text("utf-8").splitlines()]
    for name, case in CASES.items()
    if is_file(case, "rejects.jsonl")
}
CURED = {
    name: cured
    for name, rejects in REJECTS.items()
    if (cured := {each["source"]: typed_in(each["detail"]) for each in rejects})
    and any(cured.values())
}


@pytest.mark.parametrize("name", CURED)
def test_a_remedy_of_a_reject_ends_it(tmp_path, name):
    root = tmp_path / "input"
    make(CASES[name] / "input", root)
    for source, remedies in CURED[name].items():
        for words in remedies:
            elements = yielded(source_at(root, f"{options_of_case(CASES[name])} {words}")[1])
            found = {each.source: each.detail for each in elements if isinstance(each, Rejected)}
            assert words not in found.get(source, "")


@pytest.mark.parametrize("name", REFUSED)
def test_no_remedy_lacks_the_value_of_its_option(name):
    message = (CASES[name] / "error").read_text("utf-8").strip()
    assert not re.search(r"\b(?:pass|with|by|or) --[\w-]+(?:$|,|;| or )", message)


@pytest.mark.parametrize("name", [name for name in REFUSED if "an-archive-in-an-archive" in name])
def test_the_command_that_unpacks_leads_on(tmp_path, name):
    make(CASES[name] / "input", tmp_path / "input")
    message = str(refusal(tmp_path / "input", options_of_case(CASES[name])))
    python, *command = shlex.split(message.partition("unpack it once: ")[2])
    subprocess.run([sys.executable, *command], cwd=tmp_path, check=True)
    assert python == "python"
    unpacked = tmp_path / command[-1]
    assert f": give {unpacked}/inner.zip, " in str(refusal(unpacked, "INPUT"))

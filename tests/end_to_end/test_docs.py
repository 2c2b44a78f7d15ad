"""Texts for users name existing things, and are rendered without broken Markdown."""

import ast
import functools
import html
import itertools
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import generated_pages
import markdown
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from end_to_end.pages import commands

from beam_pipeline.cli.options import (
    COMMANDS,
    Parser,
    add_command_options,
    command_parser,
    split_arguments,
)
from tfrecord_dataset.options import fields_of
from trainer import commands as trainer_main

_ROOT = Path(__file__).parents[2]
_OUTSIDE = [_ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")]
PAGES = [*_OUTSIDE, *sorted((_ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Options of argparse itself, then of pytest, docker, kubectl, pip, Spark, TensorFlow's tools,
# Beam's boot, its worker pool and its job server.
_OTHERS = {
    *("--help", "--regenerate", "--build-arg", "--entrypoint", "--gpus", "--rm", "--shm-size"),
    *("--user", "--volumes", "--for", "--timeout", "--image", "--input-path", "--input-format"),
    *("--output-path", "--output-format", "--save-media", "--no-deps", "--constraint"),
    *("--parameters", "--spark-master-url", "--add-opens", "--worker_pool", "--sdk-language"),
    *("--metadata-file", "--template-file-gcs-location", "--service_port", "--dir", "--logdir"),
    *("--flink-master", "--job-port", "--number_of_execution_retries", "--case"),
    "--container_executable",
}
_LAUNCHER = ["beam-tfrecords"]
_TRAINERS = (["beam-tfrecords-train"], ["beam-tfrecords-trainer"])

_EXTENSIONS = ["attr_list", "fenced_code", "md_in_html", "tables"]
# Text shown on a page with broken Markdown.
_BROKEN = re.compile(r"```|\\\||(?<!\w)`|\]\(|^\s*\|.*\|\s*$", re.MULTILINE)

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def _fences(page: Path, language: str) -> list[str]:
    return [code for name, code in _FENCE.findall(page.read_text()) if name == language]


def _commands(page: Path) -> Iterator[list[str]]:
    return itertools.chain.from_iterable(map(commands, _fences(page, "bash")))


@functools.cache
def _known_options() -> set[str]:
    beam = Parser(add_help=False)
    for group in PipelineOptions.__subclasses__():
        single = Parser(add_help=False)
        group._add_argparse_args(single)
        beam._option_string_actions.update(single._option_string_actions)
    own = Parser(add_help=False)
    for command in COMMANDS:
        single = Parser(add_help=False)
        add_command_options(single, command)
        own._option_string_actions.update(single._option_string_actions)
    names = (
        *("beam_pipeline/cli/options.py", "beam_pipeline/cli/commands.py"),
        *("benchmarks/scaling.py", "tfrecord_dataset/command_line.py", "trainer/commands.py"),
    )
    text = "".join((_ROOT / name).read_text() for name in names)
    trainer = (fields_of(command.options) for command in trainer_main.COMMANDS.values())
    return {
        *re.findall(r'"(--[a-z][a-z-]+)"', text),
        *(field.flag for fields in trainer for field in fields.values()),
        *beam._option_string_actions,
        *own._option_string_actions,
    }


@pages
def test_every_option_exists(page: Path) -> None:
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z_-]+", page.read_text()))

    assert named - _known_options() - _OTHERS == set()


def _after(start: list[str], words: list[str]) -> list[str]:
    """Return the words after `start` in a command, also of a container; none without it."""
    words = [words[0].rpartition("/")[2], *words[1:]]
    for at in range(len(words) - len(start)):
        if words[at : at + len(start)] == start and words[:2] != ["docker", "build"]:
            return words[at + len(start) :]
    return []


def test_the_trees_page_is_current() -> None:
    assert generated_pages.TREES.read_text() == generated_pages.trees_page(), (
        generated_pages.__doc__
    )


def test_the_page_of_options_and_the_arguments_in_python_are_made_from_them() -> None:
    assert generated_pages.OPTIONS.read_text() == generated_pages.options_page()
    for path, text in generated_pages.arguments().items():
        assert path.read_text() == text


def _without_files(words: Sequence[str]) -> Iterator[str]:
    """Yield the words, without options that read files during parsing."""
    for before, word in zip(["", *words], words, strict=False):
        if not {before, word} & {"--schema", "--split-list"}:
            yield word


@pages
def test_every_command_parses(page: Path) -> None:
    for words in _commands(page):
        if arguments := _after(_LAUNCHER, words):
            own, _ = split_arguments(list(_without_files(arguments)))
            _, unknown = command_parser().parse_known_args(own)
            assert unknown == []
        for start in _TRAINERS:
            if arguments := _after(start, words):
                trainer_main._parse(arguments)


@pages
def test_every_input_and_target_exists(page: Path) -> None:
    makefile = (_ROOT / "Makefile").read_text()
    for words in _commands(page):
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), words
        for word in words:
            if word.startswith("examples/"):
                assert (_ROOT / word).exists(), words


@pages
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text()):
        if "://" in target:
            continue
        file = page.parent / target if target else page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", heading.lower()).strip() for heading in headings}
            assert anchor in {each.replace(" ", "-") for each in anchors}, (target, anchor)


@pages
def test_python_parses_and_every_source_file_named_exists(page: Path) -> None:
    for code in _fences(page, "python"):
        ast.parse(code)
    packages = "beam_pipeline|tfrecord_dataset|trainer|tests|examples"
    paths = re.findall(rf"`((?:{packages})/[\w/.-]*)`", page.read_text())

    assert [path for path in paths if not (_ROOT / path).exists()] == []


def test_pages_that_the_code_refers_to_exist() -> None:
    sources = [
        *_ROOT.glob("beam_pipeline/**/*.py"),
        *_ROOT.glob("trainer/**/*.py"),
        *_ROOT.glob("examples/*.py"),
    ]
    named = {name for path in sources for name in re.findall(r"docs/[\w/-]+\.md", path.read_text())}

    assert named
    assert [name for name in sorted(named) if not (_ROOT / name).exists()] == []


def test_every_page_is_in_the_site() -> None:
    """For an entry without a page, mkdocs itself fails."""
    navigation = (_ROOT / "mkdocs.yml").read_text()
    pages = [str(page.relative_to(_ROOT / "docs")) for page in PAGES[len(_OUTSIDE) :]]

    assert [page for page in pages if f" {page}\n" not in navigation] == []


def test_every_reason_of_a_reject_is_explained() -> None:
    explained = "".join(page.read_text() for page in PAGES)
    texts = [path.read_text() for path in _ROOT.glob("beam_pipeline/**/*.py")]
    reasons = {
        reason
        for text in texts
        for reason in re.findall(r'(?:RecordError\(|reason=)\s*"([\w -]+)"', text)
    }

    assert len(reasons) > 10
    assert [reason for reason in sorted(reasons) if reason not in explained] == []


def broken(text: str) -> list[str]:
    """Return visible Markdown syntax of a rendered page."""
    rendered = markdown.markdown(text, extensions=_EXTENSIONS)
    shown = re.sub(r"<pre>.*?</pre>|<[^>]*>", "", rendered, flags=re.DOTALL)
    return [found[0] for found in _BROKEN.finditer(html.unescape(shown))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("```bash\na \\\n  b | c\n```\n", "", id="a block"),
        pytest.param("| a |\n|---|\n| <code>N&#124;A</code> |\n", "", id="an entity in code"),
        pytest.param("1. A:\n\n   `` `bash pip install x ` ``\n", "`", id="a fence reflowed"),
        pytest.param("| `N\\|A` | a |\n", "| N\\|A | a |", id="a row without its table"),
        pytest.param("| a |\n|---|\n| `N\\|A` |\n", "\\|", id="an escape in code"),
        pytest.param("text\n```bash\na\n", "```", id="a fence that does not end"),
    ],
)
def test_broken(text: str, found: str) -> None:
    assert bool(broken(text)) == bool(found)
    assert all(each.startswith(found) for each in broken(text)[:1])


@pages
def test_no_markdown_is_shown_and_no_command_was_reflowed(page: Path) -> None:
    """Each line of a block is a command, or ends with a backslash to continue."""
    assert broken(page.read_text()) == []
    for block in re.findall(r"^```bash\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        assert not re.search(r"\\ |\S docker (?:build|push)", block), block


def test_the_placeholder_of_the_address_is_where_it_is_said_to_be() -> None:
    files = subprocess.run(
        ["git", "grep", "-c", "github.com/OWNER", "--", "docs/*.md", "examples", "*.md", "*.toml"],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert files.stdout.split() == ["docs/install.md:1", "examples/cells.ipynb:1"]
    stated = (_ROOT / "CONTRIBUTING.md").read_text()
    assert "`OWNER` in `docs/install.md` and `examples/cells.ipynb`" in stated

"""docs/options.md, made from the commands' options.

`PYTHONPATH=. python tests/options_page.py` writes it.
"""

from pathlib import Path

from beam_pipeline.cli import options as cli
from tfrecord_dataset.options import as_table
from trainer import __main__ as trainer

PAGE = Path(__file__).parent.parent / "docs" / "options.md"


def page() -> str:
    """The text of the page."""
    parts = [
        "# Options",
        "All options of the commands, as `--help` shows them; `plan` has those of `build`. "
        "`plan`, `verify`, `show` and `diff` print JSON with `--json`. `beam-tfrecords` is "
        "`python -m beam_pipeline`, and `beam-tfrecords-train` is `python -m trainer`. "
        "`--version` prints the version, and `--print-completion bash` a script that completes "
        "commands and options.",
        "A `BuildConfig` takes the options of `build`, and `trainer.train` those of `train`, by "
        "their names with `_`: `batch_size=64`. In Python a size is a side or (height, width); "
        "`640x480` is for the command line.",
    ]
    for program, commands in (("beam_pipeline", cli.COMMANDS), ("trainer", trainer.COMMANDS)):
        for name, command in commands.items():
            if name == "plan":
                continue
            parts += [f"## python -m {program} {name}", as_table(command.options).strip()]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())

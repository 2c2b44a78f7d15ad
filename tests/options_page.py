"""docs/options.md, made from the commands' options.

`PYTHONPATH=. python tests/options_page.py` writes it.
"""

from pathlib import Path

from tfrecord_dataset.options import as_table
from trainer.__main__ import COMMANDS

PAGE = Path(__file__).parent.parent / "docs" / "options.md"


def page() -> str:
    """The text of the page."""
    parts = [
        "# Options of the trainer",
        "All options of `python -m trainer`, as `--help` shows them. `trainer.train` takes those "
        "of `train` by their names with `_`: `batch_size=64`. In Python a size is a side or "
        "(height, width); `640x480` is for the command line.",
    ]
    for name, command in COMMANDS.items():
        parts += [f"## {name}", as_table(command.options).strip()]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())

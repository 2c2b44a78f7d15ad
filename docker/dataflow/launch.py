"""What the Flex Template's launcher runs: `build` with the template's parameters.

The launcher gives them as --name=value, beside Beam's own options.
"""

import os
import sys
from collections.abc import Sequence

from beam_pipeline.cli.beam_arguments import Parser
from beam_pipeline.cli.options import add_command_options

_TRUE, _FALSE = "true", "false"


def build_arguments(parameters: Sequence[str], image: str) -> list[str]:
    """`build`'s arguments for the launcher's.

    Args:
        parameters: "--name=value"; build's options have underscores in place of hyphens.
        image: What the workers run, where no parameter says it.
    """
    parser = Parser(add_help=False)
    add_command_options(parser, "build")
    given = dict(each.removeprefix("--").partition("=")[::2] for each in parameters)
    arguments = ["build", given.pop("input", "")]
    if image:
        given.setdefault("sdk_container_image", image)
    for name, value in given.items():
        action = parser._option_string_actions.get("--" + name.replace("_", "-"))
        if not value:  # left empty in the console
            continue
        if action is None:  # Beam's
            arguments.append(f"--{name}={value}")
        elif action.nargs != 0:
            arguments.append(f"{action.option_strings[0]}={value}")
        elif value == _TRUE:
            arguments.append(action.option_strings[0])
        elif value != _FALSE:
            raise SystemExit(f"{name}={value} cannot be used: give {_TRUE} or {_FALSE}")
    return arguments


if __name__ == "__main__":
    command = build_arguments(sys.argv[1:], os.environ.get("SDK_CONTAINER_IMAGE", ""))
    os.execv(sys.executable, [sys.executable, "-m", "beam_pipeline", *command])

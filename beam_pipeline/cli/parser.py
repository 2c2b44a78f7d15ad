"""The arguments of every command."""

from beam_pipeline.cli.beam_arguments import Parser
from beam_pipeline.cli.options import add_build_options
from beam_pipeline.config import BuildConfig
from tfrecord_dataset.options import add_options


def command_parser() -> Parser:
    """Reads the command and its arguments; `command` and `parser` are its own."""
    parser = Parser(
        prog="python -m beam_pipeline",
        description="Raw files to sharded TFRecords that describe themselves.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    build_parser = commands.add_parser(
        "build",
        help="build a dataset",
        description="Builds a dataset. The last line on stdout is its directory. Apache Beam's own "
        "options, such as --runner, are passed on to Beam.",
    )
    add_build_options(build_parser)
    build_parser.add_argument(
        "--output",
        required=True,
        metavar="DATA_DIR",
        help="the dataset goes to DATA_DIR/NAME/VERSION",
    )
    build_parser.set_defaults(command="build", parser=build_parser)

    plan_parser = commands.add_parser(
        "plan",
        help="show what build would do; write nothing",
        description="Reads and checks everything, prints what build would do, and writes nothing.",
    )
    add_build_options(plan_parser)
    plan_parser.add_argument(
        "--output", default="", metavar="DATA_DIR", help="accepted but not used"
    )
    plan_parser.set_defaults(command="plan", parser=plan_parser)

    adopt_parser = commands.add_parser(
        "adopt",
        help="describe existing TFRecord files where they are",
        description="Reads and checks the TFRecord files in a directory, and writes the files that "
        "describe them next to them. The last line on stdout is the directory.",
    )
    add = adopt_parser.add_argument
    add("dataset", help="the directory of the files")
    add_options(adopt_parser, BuildConfig, only=("schema", "classes"))
    add("--name", default="", help="the dataset's name (default: from the files or directory)")
    add(
        "--version",
        default="",
        help="the dataset's version (default: from the directory, or 1.0.0)",
    )
    add("--overwrite", action="store_true", help="replace an existing description")
    adopt_parser.set_defaults(command="adopt", parser=adopt_parser)

    verify_parser = commands.add_parser(
        "verify",
        help="read a dataset back and check it",
        description="Checks the counts, checksums, hashes and every Example of a dataset.",
    )
    verify_parser.add_argument("dataset", help="the dataset's directory")
    verify_parser.set_defaults(command="verify", parser=verify_parser)

    salvage_parser = commands.add_parser(
        "salvage",
        help="take what is whole of damaged TFRecord files",
        description="Writes the whole records of TFRecord files, plain or gzip, into new files of "
        "the same names, and lists in salvage.jsonl what is gone. The last line on stdout is the "
        "folder.",
    )
    salvage_parser.add_argument(
        "inputs", nargs="+", metavar="input", help="a dataset, file, folder or pattern of files"
    )
    salvage_parser.add_argument(
        "--output", required=True, metavar="DIR", help="the folder of the new files"
    )
    salvage_parser.set_defaults(command="salvage", parser=salvage_parser)

    show_parser = commands.add_parser(
        "show", help="print records", description="Prints the first records of a dataset."
    )
    show_parser.add_argument("dataset", help="the dataset's directory")
    show_parser.add_argument("--split", help="only this split (default: every split)")
    show_parser.add_argument(
        "--limit", type=int, default=3, metavar="N", help="records to print per split (default: 3)"
    )
    show_parser.add_argument(
        "--images", metavar="DIR", help="also write the images there, with their boxes drawn"
    )
    show_parser.set_defaults(command="show", parser=show_parser)
    for command in commands.choices.values():
        command.add_argument(
            "--debug", action="store_true", help="print the full traceback of an error"
        )
    return parser

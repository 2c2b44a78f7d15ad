"""What Beam logs at its import stays out of sight, and it does without beartype and absl."""

import collections.abc
import logging
import subprocess
import sys

import beartype.door
import beartype.roar
import pytest

from beam_pipeline import beam_import
from beam_pipeline.records import Record, Rejected


def test_one_line_is_left_out_and_only_meanwhile(caplog):
    with beam_import.quiet():
        logging.warning("apitools not found, and bigquery client libraries are not available")
        logging.warning("something else")
    logging.warning("apitools not found")

    assert caplog.messages == ["something else", "apitools not found"]


def test_the_log_of_whoever_imports_is_left_as_it_is():
    code = (
        "import logging\n"
        "import beam_pipeline\n"
        "beam_pipeline.build\n"
        "logging.getLogger('beam_pipeline.sources').warning('a note')\n"
        "print(logging.getLogger().handlers)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "a note\n")


@pytest.mark.parametrize(
    ("hint", "other"),
    [
        (bool, int),
        (int, bool),
        (Record, object),
        (Record, Rejected),
        (dict, collections.abc.Mapping),
        (list[int], collections.abc.Sequence[int]),
        (list[int], list[str]),
        (int, int | str),
    ],
)
def test_hints_compare_as_with_beartype(hint, other):
    assert beam_import.is_subhint(hint, other) == beartype.door.is_subhint(hint, other)


def test_what_is_no_hint_cannot_be_compared():
    with pytest.raises(beartype.roar.BeartypeDoorException):
        beartype.door.is_subhint(7, int)
    with pytest.raises(beam_import.HintError):
        beam_import.is_subhint(7, int)


@pytest.mark.slow
def test_beam_is_imported_without_beartype_and_absl():
    code = (
        "import sys\n"
        "from beam_pipeline import beam_import\n"
        "with beam_import.quiet(), beam_import.without_rare_ones():\n"
        "    from apache_beam.internal import pickler\n"
        "    from apache_beam.typehints import typehints\n"
        "print([name for name in sys.modules if name.startswith(('beartype', 'absl'))])\n"
        "print(typehints.is_consistent_with(bool, int), typehints.is_consistent_with(int, bool))\n"
        "from beartype.door import is_subhint\n"
        "print(typehints.is_consistent_with(7, int), is_subhint(list[int], list))\n"
        "from absl import flags\n"
        "print(pickler.loads(pickler.dumps(lambda: 7))(), flags.FLAGS.is_parsed())"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[]", "True False", "False True", "7 False"]

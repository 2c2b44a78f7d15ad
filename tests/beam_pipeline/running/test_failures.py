"""Errors of failed jobs, and the lock against a second job."""

import errno
import os

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

import beam_pipeline
from beam_pipeline import errors
from beam_pipeline.running.failures import explain
from beam_pipeline.running.lock import exclusive


def raised_from(cause, error):
    try:
        raise error from cause
    except type(error) as caught:
        return caught


OURS = errors.DataError("6 of 22 records invalid")


OF_WORKERS = (
    "beam_pipeline.errors.RecordError: missing file: a.jpg\n\n"
    "The above exception was the direct cause of the following exception:\n\n"
    "beam_pipeline.errors.SourceChangedError: /a.jpg was read [while running 'Write']\n"
)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (OURS, errors.DataError, "6 of 22 records invalid"),
        (
            raised_from(OURS, RuntimeError("worker failed")),
            *(errors.DataError, "6 of 22 records invalid"),
        ),
        (
            RuntimeError("Traceback …\nbeam_pipeline.errors.CountMismatchError: 3 were read"),
            *(errors.CountMismatchError, "3 were read"),
        ),
        (RuntimeError(OF_WORKERS), errors.SourceChangedError, "/a.jpg was read"),
        (
            RuntimeError(r"b'…\nbeam_pipeline.errors.DataError: bad [while running \'W\']\n'"),
            *(errors.DataError, "bad"),
        ),
        (
            RuntimeError("tfrecord_dataset.errors.RecordError: no group: a.jpg"),
            *(errors.BeamTFRecordsError, "no group: a.jpg"),
        ),
        (ValueError("else"), ValueError, "else"),
    ],
)
def test_explain(error, kind, message):
    explained = explain(error)
    assert type(explained) is kind
    assert str(explained) == message


def test_in_the_users_own_pipeline_it_is_raised_as_it_is(tmp_path, caplog):
    config = beam_pipeline.BuildConfig(output=str(tmp_path), name="numbers")
    records = [beam_pipeline.Record(key="same", features={"n": n}) for n in range(2)]
    pipeline = beam.Pipeline(FnApiRunner(), PipelineOptions([]))  # Beam's own choice, in seconds
    _ = pipeline | beam.Create(records) | beam_pipeline.WriteDataset(config)

    with pytest.raises(errors.DataError, match=r"'same' belongs to two .*--duplicates drop$"):
        pipeline.run()

    assert caplog.records == []  # Beam would log the error that it raises


def test_one_build_at_a_time(tmp_path):
    one, other = str(tmp_path / "pets/1.0.0"), str(tmp_path / "pets/1.0.1")
    with exclusive(one, lock=one):
        with (
            pytest.raises(errors.ConfigError, match="another build is writing"),
            exclusive(one, lock=one),
        ):
            pytest.fail("the output was taken")
        with exclusive(other, lock=other):
            pass
    with exclusive(one, lock=one):
        os.rmdir(one)  # as a commit does with its working directory
        with exclusive(one, lock=one):
            pass


def test_only_a_held_lock_is_another_build(tmp_path):
    """A fork without room for another process also raises BlockingIOError."""
    no_room = BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    with pytest.raises(BlockingIOError), exclusive(str(tmp_path), lock=str(tmp_path)):
        raise no_room


def test_every_error_has_its_exit_code():
    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    kinds = [kind for kind in kinds if issubclass(kind, Exception)]
    codes = {kind.__name__: kind.exit_code for kind in kinds}
    assert {name: code for name, code in codes.items() if code != 1} == {
        **dict.fromkeys(("ConfigError", "DatasetExistsError"), 2),
        **dict.fromkeys(("DataError", "DatasetDamagedError"), 3),
    }
    assert len(codes) == 10

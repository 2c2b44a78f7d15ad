"""A failed job raises this project's own error, on a cluster like a local one."""

import dataclasses

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

import beam_pipeline
from beam_pipeline import errors, pipeline
from beam_pipeline.config import BuildConfig
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.running.failures import check_folder, errors_handed_over, own_error, read_problem
from beam_pipeline.running.runner import PLAIN_JOB, Job


def raised_from(cause, error):
    try:
        raise error from cause
    except type(error) as caught:
        return caught


QUESTION = ProblemError(
    Problem(code="encoding", facts={"path": "t.csv", "encoding": "UTF-16"}, option="encoding")
)
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
        (
            RuntimeError(f"…\nbeam_pipeline.problems.ProblemError: {QUESTION}\n"),
            *(errors.ConfigError, str(QUESTION)),
        ),
        (ValueError("else"), type(None), "None"),
    ],
)
def test_own_errors(error, kind, message):
    ours = own_error(error)
    assert type(ours) is kind
    assert str(ours) == message


def test_in_the_users_own_pipeline_it_is_raised_as_it_is(tmp_path, caplog):
    config = beam_pipeline.BuildConfig(output=str(tmp_path), name="numbers")
    records = [beam_pipeline.Record(key="same", features={"n": n}) for n in range(2)]
    pipeline = beam.Pipeline(FnApiRunner(), PipelineOptions([]))  # Beam's own choice, in seconds
    _ = pipeline | beam.Create(records) | beam_pipeline.WriteDataset(config)

    with pytest.raises(errors.DataError, match=r"'same' belongs to two .*--duplicates drop$"):
        pipeline.run()

    assert caplog.records == []  # Beam would log the error that it raises


def test_every_error_has_its_exit_code():
    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    kinds = [kind for kind in kinds if issubclass(kind, Exception)]
    codes = {kind.__name__: kind.exit_code for kind in kinds}
    assert {name: code for name, code in codes.items() if code != 1} == {
        **dict.fromkeys(("ConfigError", "DatasetExistsError"), 2),
        **dict.fromkeys(("DataError", "DatasetDamagedError", "MostlyBadError"), 3),
    }
    assert len(codes) == 11


@pytest.mark.parametrize(
    ("error", "kind", "exit_code"),
    [
        pytest.param(errors.DataError("3 of 4 are bad"), errors.DataError, 3, id="bad data"),
        pytest.param(errors.ConfigError("no such file"), errors.ConfigError, 2, id="wrong usage"),
        pytest.param(
            errors.RecordError("truncated", "a.jpg"), errors.BeamTFRecordsError, 1, id="a record"
        ),
        pytest.param(QUESTION, errors.ConfigError, 2, id="an open question"),
    ],
)
def test_what_is_left_is_raised_alike(tmp_path, error, kind, exit_code):
    job = Job(problem_file=str(tmp_path / "job/problem.json"))
    assert read_problem(job.problem_file) is None
    with errors_handed_over(job):
        raise error
    left = read_problem(job.problem_file)
    assert (type(left), str(left), left.exit_code) == (kind, str(error), exit_code)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b'{"error": "DataErr', "it is not JSON", id="cut"),
        pytest.param(b'{"error": "DataError"}', "message is missing", id="no message"),
    ],
)
def test_a_damaged_problem_is_a_problem(tmp_path, content, reason):
    path = tmp_path / "problem.json"
    path.write_bytes(content)
    left = read_problem(str(path))
    assert type(left) is errors.BeamTFRecordsError
    assert str(left).startswith(f"a stage of the job failed, and {path} with the reason is damage")
    assert reason in str(left)


def test_the_first_one_stays(tmp_path):
    job = Job(problem_file=str(tmp_path / "problem.json"))
    for message in ("the cause", "what followed"):
        with errors_handed_over(job):
            raise errors.BeamTFRecordsError(message)
    assert str(read_problem(job.problem_file)) == "the cause"


def test_other_errors_are_raised_for_the_cluster_to_try_again(tmp_path):
    job = Job(problem_file=str(tmp_path / "problem.json"))
    with pytest.raises(OSError, match="full"), errors_handed_over(job):
        raise OSError("disk full")
    assert read_problem(job.problem_file) is None


def test_without_a_launcher_that_looks_it_is_raised():
    with pytest.raises(errors.DataError), errors_handed_over(PLAIN_JOB):
        raise errors.DataError("bad")


def test_a_job_that_left_a_problem_ends_without_a_commit(tmp_path, class_folders, monkeypatch):
    """Like on a cluster: no stage raises, nothing is retried, nothing is committed."""
    root = class_folders(tmp_path / "data", each=3)
    (root / "cat" / "broken.jpg").write_bytes(b"no image")
    problem = tmp_path / "problem.json"
    write = pipeline.WriteDataset

    def write_elsewhere(config, job):
        return write(config, dataclasses.replace(job, problem_file=str(problem)))

    monkeypatch.setattr(pipeline, "WriteDataset", write_elsewhere)
    config = BuildConfig(input=str(root), output=str(tmp_path / "out"), name="pets")
    with pytest.raises(errors.ConfigError, match="is not a finished dataset"):
        beam_pipeline.build(config)
    left = read_problem(str(problem))
    assert isinstance(left, errors.DataError)
    assert "1 of 7 records invalid" in str(left)
    assert (tmp_path / "out/pets/1.0.0/rejects.jsonl").exists()


def test_a_worker_that_does_not_see_the_output_reports_it(tmp_path):
    job = Job(problem_file=str(tmp_path / "job/problem.json"))
    with pytest.raises(errors.ConfigError, match=r"does not see .*/job, which the launching"):
        check_folder(job)
    (tmp_path / "job").mkdir()
    check_folder(job)
    check_folder(PLAIN_JOB)
    check_folder(Job(problem_file="s3://bucket/job/problem.json"))

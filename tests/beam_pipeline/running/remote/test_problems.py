"""The launcher raises a stage's error on a cluster like a local one."""

import dataclasses

import pytest

import beam_pipeline
from beam_pipeline import errors, pipeline
from beam_pipeline.config import BuildConfig
from beam_pipeline.running.remote import job_folder
from beam_pipeline.running.runner import PLAIN_JOB, Job


@pytest.mark.parametrize(
    ("error", "kind", "exit_code"),
    [
        pytest.param(errors.DataError("3 of 4 are bad"), errors.DataError, 3, id="bad data"),
        pytest.param(errors.ConfigError("no such file"), errors.ConfigError, 2, id="wrong usage"),
        pytest.param(
            errors.RecordError("truncated", "a.jpg"), errors.BeamTFRecordsError, 1, id="a record"
        ),
    ],
)
def test_what_is_left_is_raised_alike(tmp_path, error, kind, exit_code):
    job = Job(problem_file=str(tmp_path / "job/problem.json"))
    assert job_folder.read_problem(job.problem_file) is None
    with job_folder.errors_handed_over(job):
        raise error
    left = job_folder.read_problem(job.problem_file)
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
    left = job_folder.read_problem(str(path))
    assert type(left) is errors.BeamTFRecordsError
    assert str(left).startswith(f"a stage of the job failed, and {path} with the reason is damage")
    assert reason in str(left)


def test_the_first_one_stays(tmp_path):
    job = Job(problem_file=str(tmp_path / "problem.json"))
    for message in ("the cause", "what followed"):
        with job_folder.errors_handed_over(job):
            raise errors.BeamTFRecordsError(message)
    assert str(job_folder.read_problem(job.problem_file)) == "the cause"


def test_other_errors_are_raised_for_the_cluster_to_try_again(tmp_path):
    job = Job(problem_file=str(tmp_path / "problem.json"))
    with pytest.raises(OSError, match="full"), job_folder.errors_handed_over(job):
        raise OSError("disk full")
    assert job_folder.read_problem(job.problem_file) is None


def test_without_a_launcher_that_looks_it_is_raised():
    with pytest.raises(errors.DataError), job_folder.errors_handed_over(PLAIN_JOB):
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
    left = job_folder.read_problem(str(problem))
    assert isinstance(left, errors.DataError)
    assert "1 of 7 records invalid" in str(left)
    assert (tmp_path / "out/pets/1.0.0/rejects.jsonl").exists()


def test_a_worker_that_does_not_see_the_output_reports_it(tmp_path):
    job = Job(problem_file=str(tmp_path / "job/problem.json"))
    with pytest.raises(errors.ConfigError, match=r"does not see .*/job, which the launching"):
        job_folder.check_folder(job)
    (tmp_path / "job").mkdir()
    job_folder.check_folder(job)
    job_folder.check_folder(PLAIN_JOB)
    job_folder.check_folder(Job(problem_file="s3://bucket/job/problem.json"))

"""Settings of stores: from Beam's options, and on workers without their own."""

import base64
import bz2
import json
import os
import sys

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_runner_api_pb2
from fresh_python import printed

from beam_pipeline import BuildConfig, Record, WriteDataset
from beam_pipeline.running.store_settings import send_settings, use_options

HERE = {
    "AWS_ENDPOINT_URL": "http://here:9000",
    "AWS_ALLOW_HTTP": "true",
    "AWS_ACCESS_KEY_ID": "one",
}

# Gets the job's options and unpickles its functions like a worker, then prints its settings.
WORKER = """
import json, os, sys
from apache_beam.internal import pickler
from apache_beam.runners.worker.sdk_worker_main import create_harness
create_harness(os.environ, dry_run=True)
for text in json.load(sys.stdin):
    pickler.loads(bytes.fromhex(text))
print(json.dumps({name: value for name, value in os.environ.items() if name[:4] in sys.argv[1]}))
"""


@pytest.fixture(autouse=True)
def only_here(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **HERE})


def functions(pipeline):
    """Return the pickled functions of a pipeline."""
    return [
        beam_runner_api_pb2.ParDoPayload.FromString(transform.spec.payload).do_fn.payload
        for transform in pipeline.to_runner_api().components.transforms.values()
        if transform.spec.urn == "beam:transform:pardo:v1"
    ]


@pytest.fixture
def on_a_worker(tmp_path):
    """A cloud's variables on a worker with some of its own, after it has loaded a job."""

    def load(*flags, own=None, cloud="AWS_"):
        options = PipelineOptions(list(flags))
        use_options(options)
        pipeline = beam.Pipeline(options=options)
        pipeline | beam.Create([1]) | beam.Map(print)
        send_settings(pipeline)
        payloads = [payload.hex() for payload in functions(pipeline)]
        path = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
        sent = options.get_all_options(drop_default=True)
        sent = {f"beam:option:{name}:v1": value for name, value in sent.items()}
        variables = {
            **path,
            "PIPELINE_OPTIONS": json.dumps(sent),
            "CONTROL_API_SERVICE_DESCRIPTOR": 'url: "nowhere:1"',
            **(own or {}),
        }
        return json.loads(printed(WORKER, cloud, input=json.dumps(payloads), env=variables))

    return load


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "own", "expected"),
    [
        pytest.param(
            (),
            {},
            {"AWS_ENDPOINT_URL": "http://here:9000", "AWS_ALLOW_HTTP": "true"},
            id="no credentials",
        ),
        pytest.param(
            (),
            {"AWS_ENDPOINT_URL": "http://minio"},
            {"AWS_ENDPOINT_URL": "http://minio", "AWS_ALLOW_HTTP": "true"},
            id="the worker's own stay",
        ),
        pytest.param(
            ("--s3_endpoint_url=http://there", "--s3_access_key_id=a", "--s3_region_name=eu"),
            {"AWS_ENDPOINT_URL": "http://minio"},
            {
                "AWS_ENDPOINT_URL": "http://there",
                "AWS_ALLOW_HTTP": "true",
                "AWS_ACCESS_KEY_ID": "a",
                "AWS_REGION": "eu",
            },
            id="options count everywhere",
        ),
    ],
)
def test_what_a_worker_has(on_a_worker, flags, own, expected):
    assert on_a_worker(*flags, own=own) == expected


def test_beams_options_for_azure_are_used_here():
    flags = "AccountName=me;AccountKey=a2V5==;BlobEndpoint=http://127.0.0.1:10000/me"
    use_options(PipelineOptions([f"--azure_connection_string={flags}"]))
    assert {name: value for name, value in os.environ.items() if name.startswith("AZURE")} == {
        "AZURE_STORAGE_ACCOUNT_NAME": "me",
        "AZURE_STORAGE_ACCOUNT_KEY": "a2V5==",
        "AZURE_STORAGE_ENDPOINT": "http://127.0.0.1:10000/me",
        "AZURE_ALLOW_HTTP": "true",
    }


SECRETS = ["key-In-Option-1", "token-In-Option-2", "a2V5LUluLU9wdGlvbg==", "pass-In-Variable-4"]


def test_the_functions_of_a_build_carry_no_credentials(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://me:{SECRETS[3]}@here:9000")
    options = PipelineOptions(
        [
            *("--s3_region_name=eu-moon-1", "--s3_access_key_id=open"),
            *(f"--s3_secret_access_key={SECRETS[0]}", f"--s3_session_token={SECRETS[1]}"),
            f"--azure_connection_string=AccountName=me;AccountKey={SECRETS[2]}",
        ]
    )
    use_options(options)
    assert (os.environ["AWS_SECRET_ACCESS_KEY"], os.environ["AWS_REGION"]) == (
        SECRETS[0],
        "eu-moon-1",
    )
    pipeline = beam.Pipeline(options=options)
    records = pipeline | beam.Create([Record(key="a", features={"x": 1})])
    records | WriteDataset(BuildConfig(output=str(tmp_path), name="t"))
    send_settings(pipeline)
    pickles = [bz2.decompress(base64.b64decode(payload)) for payload in functions(pipeline)]
    assert len(pickles) > 10
    assert all(b"eu-moon-1" in pickle and b"http://here:9000" in pickle for pickle in pickles)
    whole = pipeline.to_runner_api().SerializeToString()
    assert [
        each for each in SECRETS if any(each.encode() in text for text in [whole, *pickles])
    ] == []

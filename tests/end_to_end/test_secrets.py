"""Passwords, signatures and keys are never written or printed."""

import io
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from file_bytes import image_bytes

from beam_pipeline import BuildConfig
from beam_pipeline.cli import commands
from beam_pipeline.describe.metadata import provenance
from tfrecord_dataset import standard_streams
from trainer import commands as trainer_main
from trainer.options.train_options import TrainConfig

PASSWORD = "pass-Hunter2-word"
SIGNATURE = "9f86d081884c7d65"
TOKEN = "token-3b2a1c"
KEY = "env-Secret-Key-42"
OPTION = "option-Secret-Key-43"
SAS = "c2FzLXNpZ25hdHVyZQ"
SECRETS = [PASSWORD, SIGNATURE, TOKEN, KEY, OPTION, SAS]
QUERY = f"X-Amz-Signature={SIGNATURE}&token={TOKEN}"
BEAMS = ("--s3_secret_access_key", OPTION)


@pytest.fixture
def web(bucket, monkeypatch):
    """The web URL of a bucket, with a password, and in it a table of images' signed URLs.

    One image is missing. The environment has a key, a signature and an endpoint's password.
    """
    url, store = bucket
    host = store.endpoint.removeprefix("http://")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://me:{PASSWORD}@{host}")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", f"sv=1&sig={SAS}")
    web = f"http://me:{PASSWORD}@{host}/{url.removeprefix('s3://')}"
    noise = np.random.default_rng(0)
    rows = []
    for number in range(13):
        rows.append({"image": f"{web}/images/{number}.png?{QUERY}", "label": "ab"[number % 2]})
        pixels = noise.integers(0, 256, (80, 90, 3), dtype=np.uint8)
        if number < 12:
            store.put(f"{url}/images/{number}.png", image_bytes(pixels, compress_level=0))
    store.put(f"{url}/pets.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows).encode())
    return web


def build(web, output, *more):
    table = f"{web}/pets.jsonl?{QUERY}"
    return ["build", table, "--output", str(output), "--allow-outside", f"{web}/images", *more]


def secrets_in(name, data):
    """Return the secrets in a file or text."""
    texts = [data]
    if name.endswith(".parquet"):
        texts.append(str(pq.read_table(io.BytesIO(data)).to_pylist()).encode())
    return [(name, secret) for secret in SECRETS if any(secret.encode() in text for text in texts)]


def test_what_is_written_down_of_options_tells_none():
    url = f"https://me:{PASSWORD}@host/pets.jsonl?{QUERY}"
    config = BuildConfig(input=url, image_root=url, allow_outside=(url,), output="out")
    assert config.name == "pets"
    assert secrets_in("build.json", provenance(config, "").encode()) == []
    options = json.dumps(TrainConfig(data=url, output="run", weights=url, model="VGG16").to_json())
    assert secrets_in("config.json", options.encode()) == []


@pytest.mark.slow
def test_what_all_commands_leave_and_print_tells_none(web, bucket, tmp_path, monkeypatch, capfd):
    """Includes the home, temporary folder and caches; --debug prints the most."""
    url, store = bucket
    store.fail(f"{url}/forbidden", 403)
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "TMPDIR"))
    monkeypatch.chdir(tmp_path)

    def run(code, main, *arguments):
        with monkeypatch.context() as patched:
            for name in ("stdout", "stderr"):
                patched.setattr(sys, name, getattr(sys, name))
            standard_streams.guard()
            assert main([*arguments, "--debug"]) == code
        printed = capfd.readouterr()
        assert secrets_in(str(arguments[:2]), (printed.out + printed.err).encode()) == []

    some_bad = ("--max-bad-fraction", "0.5")
    dataset = f"{web}/out/pets/1.0.0"
    shard = f"{dataset}/pets-train.tfrecord-00000-of-00001?{QUERY}"
    train = ("train", "--image-size", "16", "--batch-size", "4", "--epochs")
    of_run = ("--run", "run")
    for more, code in (((), 3), (some_bad, 0)):  # a failing build leaves its rejects
        run(code, commands.main, *build(web, "here", "--threads", "2", *more, *BEAMS))
    run(0, commands.main, "plan", *build(web, "")[1:2], *build(web, "")[4:], *some_bad, *BEAMS)
    run(1, commands.main, *build(web, f"{url}/forbidden", *some_bad))
    run(2, commands.main, *build(web, "s3://no-bucket/out", *some_bad, *BEAMS))
    run(0, commands.main, *build(web, f"{url}/out", *some_bad, *BEAMS))
    run(2, commands.main, *build(web, f"{url}/out", *some_bad, *BEAMS))
    run(0, commands.main, "verify", dataset)
    run(0, commands.main, "show", dataset)
    run(0, trainer_main.main, *train, "1", "--data", dataset, "--output", "run")
    run(0, trainer_main.main, *train, "2", "--data", dataset, "--output", "run", "--resume")
    run(2, trainer_main.main, *train, "3", "--output", "run", "--resume")
    run(0, trainer_main.main, *train, "1", "--data", shard, "--output", "bare")
    run(0, trainer_main.main, "evaluate", *of_run, "--data", dataset, "--split", "train")
    rows = ("--split", "train", "--output", "rows.jsonl")
    run(0, trainer_main.main, "predict", *of_run, dataset, *rows)
    run(2, trainer_main.main, *train, "1", "--data", f"{web}/none?{QUERY}", "--output", "other")
    place = next(key for key in store.objects if "/out/" in key and ".tfrecord" in key)
    store.objects[place] = store.objects[place][:-50] + bytes(50)
    run(3, commands.main, "verify", dataset)
    others = ("--output", "other", "--cache-dir", "copies")
    run(3, trainer_main.main, *train, "1", "--data", dataset, *others)

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    found = [secrets_in(path.name, path.read_bytes()) for path in files]
    found += [secrets_in("", str(path).encode()) for path in files]
    written = {key: data for key, data in store.objects.items() if not key.endswith("pets.jsonl")}
    assert not any([*found, *(secrets_in(key, data) for key, data in written.items())])
    assert json.loads(Path("here/pets/1.0.0/rejects.jsonl").read_text())["detail"] == "12.png"
    keys = pq.read_table("here/pets/1.0.0/index").column("key").to_pylist()
    assert sorted(keys) == sorted(f"images/{number}.png" for number in range(12))

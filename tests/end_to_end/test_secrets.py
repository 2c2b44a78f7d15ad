"""Passwords, signatures and keys are in nothing that is written or printed."""

import io
import json
import os
import subprocess
import sys
import zlib

import numpy as np
import pyarrow.parquet as pq
import pytest
from file_bytes import image_bytes

from beam_pipeline import BuildConfig
from beam_pipeline.cli import commands
from beam_pipeline.describe.provenance import provenance
from trainer.options.train import TrainConfig

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
    """The web address of a bucket, with a password; in it a table of signed URLs of images.

    One of them is missing. The environment holds a key, a signature and an endpoint's password.
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


def told_in(name, data):
    """Which secrets somebody finds who looks into a file, or a text."""
    texts = [data]
    if name.endswith(".parquet"):
        texts.append(str(pq.read_table(io.BytesIO(data)).to_pylist()).encode())
    for start in (0, 32):  # behind a digest
        try:
            texts.append(zlib.decompress(data[start:]))
        except zlib.error:
            continue
    return [(name, each) for each in SECRETS if any(each.encode() in text for text in texts)]


def told_below(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [
        told
        for path in files
        for told in (*told_in(path.name, path.read_bytes()), *told_in("", str(path).encode()))
    ]


def test_what_is_written_down_of_options_tells_none():
    url = f"https://me:{PASSWORD}@host/pets.jsonl?{QUERY}"
    config = BuildConfig(input=url, image_root=url, allow_outside=(url,), output="out")
    assert config.name == "pets"
    assert told_in("build.json", provenance(config, "").encode()) == []
    options = json.dumps(TrainConfig(data=url, output="run", weights=url, model="VGG16").to_json())
    assert told_in("config.json", options.encode()) == []


@pytest.mark.slow
def test_what_a_build_leaves_tells_none(web, tmp_path, capfd):
    """One that fails, and leaves its working directory and its rejects; then one that does not."""
    output = tmp_path / "out"
    for more, code in (((), 3), (("--max-bad-fraction", "0.5"), 0)):
        assert commands.main([*build(web, output, "--threads", "2", *more, *BEAMS)]) == code
        told = capfd.readouterr()
        assert "pets.jsonl" in told.err
        assert told_in("stdout", told.out.encode()) == []
        assert told_below(output) == []
    rejects = (output / "pets/1.0.0/rejects.jsonl").read_text()
    assert json.loads(rejects)["detail"] == "12.png"
    keys = pq.read_table(output / "pets/1.0.0/index").column("key").to_pylist()
    assert sorted(keys) == sorted(f"images/{number}.png" for number in range(12))


@pytest.mark.slow
def test_what_all_commands_leave_and_print_tells_none(web, bucket, tmp_path):
    """In processes of their own, whose home, temporary folder and caches are looked into, too."""
    url, store = bucket
    store.fail(f"{url}/forbidden", 403)
    home = {name: str(tmp_path / name) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME")}
    for folder in home.values():
        os.mkdir(folder)

    def run(code, package, *arguments):
        done = subprocess.run(
            [sys.executable, "-m", package, *arguments, "--debug"],
            env={**os.environ, **home},
            cwd=tmp_path,
            capture_output=True,
        )
        assert done.returncode == code, done.stderr.decode()
        assert told_in(str(arguments[:2]), done.stdout + done.stderr) == []

    some_bad = ("--max-bad-fraction", "0.5")
    dataset = f"{web}/out/pets/1.0.0"
    shard = f"{dataset}/pets-train.tfrecord-00000-of-00001?{QUERY}"
    train = ("train", "--image-size", "16", "--batch-size", "4", "--epochs")
    of_run = ("--run", str(tmp_path / "run"))
    run(0, "beam_pipeline", "plan", *build(web, "")[1:2], *build(web, "")[4:], *some_bad, *BEAMS)
    run(1, "beam_pipeline", *build(web, f"{url}/forbidden", *some_bad))
    run(2, "beam_pipeline", *build(web, "s3://no-bucket/out", *some_bad, *BEAMS))
    run(0, "beam_pipeline", *build(web, f"{url}/out", *some_bad, *BEAMS))
    run(2, "beam_pipeline", *build(web, f"{url}/out", *some_bad, *BEAMS))
    run(0, "beam_pipeline", "verify", dataset)
    run(0, "beam_pipeline", "show", dataset)
    run(0, "trainer", *train, "1", "--data", dataset, "--output", "run")
    run(0, "trainer", *train, "2", "--data", dataset, "--output", "run", "--resume")
    run(2, "trainer", *train, "3", "--output", "run", "--resume")
    run(0, "trainer", *train, "1", "--data", shard, "--output", "bare")
    run(0, "trainer", "evaluate", *of_run, "--data", dataset, "--split", "train")
    run(0, "trainer", "predict", *of_run, dataset, "--split", "train", "--output", "rows.jsonl")
    run(2, "trainer", *train, "1", "--data", f"{web}/none?{QUERY}", "--output", "other")
    place = next(key for key in store.objects if "/out/" in key and ".tfrecord" in key)
    store.objects[place] = store.objects[place][:-50] + bytes(50)
    run(3, "beam_pipeline", "verify", dataset)
    run(3, "trainer", *train, "1", "--data", dataset, "--output", "other", "--cache-dir", "copies")

    assert told_below(tmp_path) == []
    written = {key: data for key, data in store.objects.items() if not key.endswith("pets.jsonl")}
    assert [told for key, data in written.items() for told in told_in(key, data)] == []

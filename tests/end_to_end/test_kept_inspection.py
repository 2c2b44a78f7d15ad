"""A build that was cut off while it wrote reads no file again to inspect it."""

import collections
import dataclasses
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import beam_pipeline
from beam_pipeline import errors
from beam_pipeline.files import storage
from beam_pipeline.files.local import LOCAL
from beam_pipeline.files.remote import REMOTE
from beam_pipeline.write import stage as write
from beam_pipeline.write.working_directory import kept_dir, working_dir

NUM_IMAGES = 300
NUM_SHARDS = 6


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """Files by path, in two batches; the last is damaged. Each is large enough to be worth it."""
    noise = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("images") / "image.png"
    files = {}
    for number in range(NUM_IMAGES):
        pixels = noise.integers(0, 256, (80, 90, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path, compress_level=0)
        files[f"class_{number % 2}/{number}.png"] = path.read_bytes()
    files[f"class_1/{NUM_IMAGES - 1}.png"] = b"no image" * 2500
    return files


@pytest.fixture(params=["local", pytest.param("store", marks=pytest.mark.slow)])
def base(request, tmp_path):
    """Where input and output lie: a folder, or a bucket."""
    return str(tmp_path) if request.param == "local" else request.getfixturevalue("bucket")[0]


@pytest.fixture
def config(base, photographs):
    for path, data in photographs.items():
        storage.write_bytes(storage.join(base, "pets", path), data)
    return configuration(base)


def configuration(base, output="out"):
    return beam_pipeline.BuildConfig(
        input=storage.join(base, "pets"),
        output=storage.join(base, output),
        num_shards=NUM_SHARDS,
        max_bad_fraction=0.1,
        threads=4,
    )


@pytest.fixture
def reads(monkeypatch):
    """How often each image is read."""
    counts = collections.Counter()
    for backend in (LOCAL, REMOTE):
        read = backend.read

        def counted(path, *arguments, read=read):
            if path.endswith(".png"):
                counts[path.rpartition("/")[2]] += 1
            return read(path, *arguments)

        monkeypatch.setattr(backend, "read", counted)
    return counts


def cut_off(config, after, monkeypatch):
    """Builds until so many shards are written; then the disk is full."""
    write_shard, written = write._WriteShard._write_shard, []

    def failing(*arguments, **options):
        if len(written) == after:
            raise OSError(28, "No space left on device", "a shard")
        written.append(write_shard(*arguments, **options))
        return written[-1]

    with monkeypatch.context() as patch:
        patch.setattr(write, "_SHARDS_AT_ONCE", 1)
        patch.setattr(write._WriteShard, "_write_shard", failing)
        with pytest.raises(Exception, match="No space left"):
            beam_pipeline.build(config)
    assert len(storage.list_dir(kept_dir(config))) == 2


def contents(config):
    """All files of the dataset by name, but for build.json, which says when it was made."""
    root = config.dataset_dir
    return {
        file.relative: storage.sha256_of(file.path)
        for file in storage.list_files(root)
        if file.relative != "build.json"
    }


@pytest.mark.slow
@pytest.mark.parametrize("finished", [0, 4])
def test_no_file_is_read_again_to_inspect_it(config, base, reads, monkeypatch, finished):
    whole = configuration(base, "whole")
    beam_pipeline.build(whole)
    cut_off(config, finished, monkeypatch)
    reads.clear()

    info = beam_pipeline.build(config)
    assert contents(config) == contents(whole)
    missing = sum(shard.num_records for shard in info.splits["train"][finished:])
    assert reads.total() <= missing + 4, "each once, to write it; and a look at the first ones"
    assert reads.total() < NUM_IMAGES
    assert not storage.exists(working_dir(config))


@pytest.mark.slow
def test_bad_data_that_is_mended_is_all_that_is_inspected_again(
    config, base, photographs, reads, monkeypatch
):
    strict = dataclasses.replace(config, max_bad_fraction=0.0)
    with pytest.raises(errors.DataError, match="1 of 300 records are bad"):
        beam_pipeline.build(strict)
    storage.write_bytes(
        storage.join(config.input, f"class_1/{NUM_IMAGES - 1}.png"), photographs["class_1/1.png"]
    )
    reads.clear()
    beam_pipeline.build(strict)
    assert reads.total() <= NUM_IMAGES + 256 + 4


@pytest.mark.slow
def test_a_killed_build(photographs, tmp_path, reads, digests):
    """The command, with its worker processes, by SIGKILL."""
    for path, data in photographs.items():
        storage.write_bytes(str(tmp_path / "pets" / path), data)
    config = configuration(str(tmp_path))
    command = [sys.executable, "-m", "beam_pipeline", "build", config.input, "--output"]
    command += [config.output, f"--num-shards={NUM_SHARDS}", "--max-bad-fraction=0.1"]
    build = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(Path(config.output).glob("pets/.building-*/*/receipts/*.json")):
        assert build.poll() is None
        time.sleep(0.001)
    build.send_signal(signal.SIGKILL)
    build.wait()
    assert not Path(config.dataset_dir).exists()

    info = beam_pipeline.build(config)
    assert reads.total() <= NUM_IMAGES + 4, "each once, to write it"
    whole = beam_pipeline.build(configuration(str(tmp_path), "whole"))
    assert digests(Path(info.path)) == digests(Path(whole.path))

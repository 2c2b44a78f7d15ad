"""A commit that is killed at any of its calls leaves the old dataset or the new, whole."""

import hashlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from beam_pipeline import BuildConfig, open_dataset
from beam_pipeline.assign.placement import SplitPlan
from beam_pipeline.assign.plan import Plan
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.dataset.opening import is_dataset
from beam_pipeline.describe.shard_info import ShardInfo, TemporaryFile
from beam_pipeline.files import replacement
from beam_pipeline.write.commit import commit
from beam_pipeline.write.receipts import finished_shard, receipt_path
from beam_pipeline.write.working_directory import restore_dataset, working_dir

CALLS = {"os.rename", "os.link", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "open"}
KILLED = 9


def configuration(output, num_shards):
    return BuildConfig(output=str(output), name="pets", num_shards=num_shards, overwrite=True)


def finish_shards(config, content):
    """Shards of this content, written but for those that are there; and how many were written."""
    infos, written = [], 0
    folder = Path(working_dir(config))
    for number in range(config.num_shards):
        receipt = receipt_path(config, "train", number)
        info = finished_shard(receipt, content)
        if info is None:
            written += 1
            file = f"pets-train.tfrecord-{number:05d}-of-{config.num_shards:05d}"
            data = f"{content} {number}".encode()
            paths = {file: folder / f"train/{number}", f"index/{file}.idx": folder / f"i/{number}"}
            for path in paths.values():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            info = ShardInfo(
                split="train",
                shard=number,
                file=file,
                num_records=1,
                num_bytes=len(data),
                sha256=hashlib.sha256(data).hexdigest(),
                records_digest=content,
                temporary={
                    final: TemporaryFile(str(path), len(data)) for final, path in paths.items()
                },
            )
            Path(receipt).parent.mkdir(exist_ok=True)
            Path(receipt).write_text(info.to_receipt())
        infos.append(info)
    return infos, written


def build(config, content):
    """Shards of this content, committed; how many of them had to be written."""
    restore_dataset(config)
    infos, written = finish_shards(config, content)
    num_records = len(infos)
    split = SplitPlan(
        num_records=num_records,
        num_bytes=num_records,
        first_bins=tuple(range(num_records)),
        first_records=tuple(range(num_records)),
    )
    plan = Plan(splits={"train": split}, schema=(), numbers_ids=True, problem=None)
    commit(config, plan, Statistics(), infos, [], num_read=num_records)
    return written


def content_of(config):
    """What the dataset holds, all of it; "" where there is none."""
    if not is_dataset(config.dataset_dir):
        return ""
    directory = Path(config.dataset_dir)
    texts = set()
    for shard in open_dataset(str(directory)).splits["train"]:
        data = (directory / shard.file).read_bytes()
        assert hashlib.sha256(data).hexdigest() == shard.sha256
        assert (directory / f"index/{shard.file}.idx").read_bytes() == data
        texts.add(data.decode().partition(" ")[0])
    [text] = texts
    return text


def kill_at(number):
    """Ends this process at its call of that number to the file system."""
    calls = itertools.count(1)  # counts right in threads

    def count(event, arguments):
        is_call = event in CALLS and (event != "open" or arguments[1] not in ("r", "rb"))
        if is_call and next(calls) == number:
            os._exit(KILLED)

    sys.addaudithook(count)


def killed_commits(root, num_old, num_new):
    """(the content after each kill, after the way back, shards written again, content at last)."""
    number = 0
    while True:
        number += 1
        new = configuration(root / str(number), num_new)
        if num_old:
            build(configuration(root / str(number), num_old), "old")
        mine = Path(new.dataset_dir, "mine/notes.txt")
        mine.parent.mkdir(parents=True)
        mine.write_text("mine")
        finish_shards(new, "new")
        if (process := os.fork()) == 0:
            kill_at(number)
            build(new, "new")
            os._exit(0)
        _, status = os.waitpid(process, 0)
        killed = content_of(new)
        restore_dataset(new)
        restored = content_of(new)
        written = build(new, "new")
        assert mine.read_text() == "mine"
        left = [str(path) for path in root.rglob("*") if path.match(".*") or path.match("*.aside")]
        yield killed, restored, 0 if killed == "new" else written, content_of(new), left
        if os.waitstatus_to_exitcode(status) == 0:
            return


def main(root, num_old, num_new, can_exchange):
    if can_exchange == "False":
        replacement.exchange = lambda *_: False
    json.dump(list(killed_commits(Path(root), int(num_old), int(num_new))), sys.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("num_old", "num_new", "can_exchange"),
    [
        pytest.param(1, 1, True, id="the same files"),
        pytest.param(3, 2, True, id="fewer files"),
        pytest.param(0, 2, True, id="the first dataset"),
        pytest.param(2, 2, False, id="no exchange"),
    ],
)
def test_killed_at_every_call(tmp_path, num_old, num_new, can_exchange):
    # -B: what Python compiles is no call of a commit.
    arguments = [sys.executable, "-B", __file__, tmp_path, num_old, num_new, can_exchange]
    done = subprocess.run([*map(str, arguments)], stdout=subprocess.PIPE, check=True)
    points = json.loads(done.stdout)

    old = "old" if num_old else ""
    killed, restored, written, last, left = zip(*points, strict=True)
    assert len(points) > 20
    assert {old, "new"} <= set(killed) <= {old, "new"} | ({""} if not can_exchange else set())
    assert killed.count("") <= (1 if num_old else len(points))
    assert set(restored) == {old, "new"}
    assert set(written) == {0}
    assert set(last) == {"new"}
    assert not any(left)


def test_two_folders_are_exchanged(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "name").write_text(folder.name)
    assert replacement.exchange(str(one), str(other))
    assert (one / "name").read_text() == "other"
    assert not replacement.exchange(str(one), str(tmp_path / "nowhere"))


if __name__ == "__main__":
    main(*sys.argv[1:])

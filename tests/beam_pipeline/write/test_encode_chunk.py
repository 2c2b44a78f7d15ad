"""Every way to encode a chunk gives the same bytes; a record that kills its process is named."""

import pytest
from inspecting import inspect_record, schema_of, table_of

from beam_pipeline.assign import columns
from beam_pipeline.batch import from_stream
from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.records import Deferred, FileRef, Image, Record
from beam_pipeline.running import parallel
from beam_pipeline.running.pickling import Constant
from beam_pipeline.write.encoding import Chunk, EncodeChunk, Encoder

DEADLY = """
import os

def read(data):
    mark = data.decode()
    if mark and os.path.exists(mark):
        if mark.endswith("once"):
            os.remove(mark)
        os.kill(os.getpid(), 9 if mark.endswith("once") else 11)
    return 7
"""


@pytest.fixture
def deadly(worker_module):
    """A module that reads values, and kills its process if the file named by them exists."""
    return worker_module("deadly_read", DEADLY)


@pytest.fixture
def work(tmp_path, write_image, deadly):
    """(chunk encoder, chunk whose third record kills its process if `tmp_path / mark` exists)."""

    def make(mark: str, first_number: int | None = 40) -> tuple[EncodeChunk, Chunk]:
        records = []
        for number in range(5):
            path = write_image(tmp_path / f"{number}.jpg", seed=number)
            value = tmp_path / f"{number}.txt"
            value.write_text(str(tmp_path / mark) if number == 2 else "")
            features = {
                "image": Image(file=FileRef(path=str(path))),
                "x": Deferred(file=FileRef(path=str(value)), read=deadly.read),
            }
            records.append(inspect_record(Record(key=f"{number}.jpg", features=features), Rules()))
        schema = schema_of(*records)
        rows = ((record, "train", number) for number, record in enumerate(records))
        table = columns.to_bytes(table_of(rows))
        encoder = Constant.of(Encoder(schema=schema, rules=Rules()))
        return EncodeChunk(encoder, threads=1), Chunk(table, first_number)

    return make


def test_pieces_are_the_whole(work):
    for first_number in (None, 40):
        encode, chunk = work("never", first_number)
        here, there, alone = encode.here(chunk), encode(chunk), encode.piece_by_piece(chunk)
        assert here.frames == there.frames == alone.frames
        assert here.lengths == there.lengths == alone.lengths
        rows = [from_stream(each.rows) for each in (here, there, alone)]
        assert rows[0].equals(rows[1])
        assert rows[0].equals(rows[2])


@pytest.mark.nightly
def test_a_process_that_was_killed_for_once_costs_no_record(work, tmp_path):
    encode, chunk = work("once")
    (tmp_path / "once").touch()
    [encoded] = parallel.start_processes(1).ahead().map(encode, [chunk])
    assert not (tmp_path / "once").exists()
    assert encoded.frames == encode.here(chunk).frames


@pytest.mark.slow
def test_a_record_that_ends_its_process_is_named(work, tmp_path):
    encode, chunk = work("always")
    (tmp_path / "always").touch()
    with pytest.raises(
        BeamTFRecordsError,
        match=r"record 2\.jpg cannot be encoded: its process was ended 3 times by SIGSEGV",
    ):
        list(parallel.start_processes(1).ahead().map(encode, [chunk]))

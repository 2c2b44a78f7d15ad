"""Records pass through Beam in packed batches, limited in number and bytes."""

import pytest

from beam_pipeline.batch import RecordBatch
from beam_pipeline.records import Array, DeclaredClasses, Record, Rejected
from beam_pipeline.running import batches
from beam_pipeline.running.pickling import Constant, pack, unpack
from beam_pipeline.running.runner import Job

HERE = Job(processes=2)
ELEMENTS = [
    Record(key="a", features={"n": 1}),
    Rejected(source="b", reason="r", detail="d"),
    DeclaredClasses(feature="label", names={0: "cat"}),
]


def test_packed_is_unpacked():
    assert unpack(pack(ELEMENTS)) == ELEMENTS


def batch_sizes(elements, job=HERE):
    source = batches.BatchElements(job)
    source.setup()
    source.start_bundle()
    sent = [batch for element in elements for batch in source.process(element)]
    *rest, count = source.finish_bundle()
    sent += [batch.value for batch in rest]
    sizes = [
        sum(len(each) if isinstance(each, RecordBatch) else 1 for each in unpack(batch))
        for batch in sent
    ]
    return sizes, count.value.value


LONG = batches.MAX_BYTES // 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(7, [batches.MAX_ELEMENTS, 44], id="small: by number"),
        pytest.param("x" * LONG, [2] * 150, id="long texts"),
        pytest.param(b"x" * LONG, [2] * 150, id="bytes"),
        pytest.param(("x" * LONG, "y"), [2] * 150, id="sequences"),
        pytest.param(Array(dtype="uint8", shape=(LONG,), data=bytes(LONG)), [2] * 150, id="arrays"),
    ],
)
def test_batches_are_bounded(value, expected):
    records = [Record(key=f"{n}", features={"x": value}) for n in range(300)]
    assert batch_sizes(records) == batch_sizes(records, Job()) == (expected, 300)


def test_only_records_and_rejects_are_counted():
    assert batch_sizes(ELEMENTS) == ([3], 2)


def test_a_constant_is_made_once_in_a_process():
    constant = Constant.of({"classes": ["a"] * 1000})
    assert constant.value == {"classes": ["a"] * 1000}
    assert constant.value is constant.value

"""Records cross Beam in packed batches."""

from beam_pipeline.records import DeclaredClasses, Record, Rejected, pack, unpack
from beam_pipeline.running import batches

ELEMENTS = [
    Record(key="a", features={"n": 1}),
    Rejected(source="b", reason="r", detail="d"),
    DeclaredClasses(feature="label", names={0: "cat"}),
]


def test_packed_is_unpacked():
    assert unpack(pack(ELEMENTS)) == ELEMENTS


def test_keyed_batches_gather_by_key():
    keyed = batches.KeyedBatches(lambda element: type(element).__name__)
    assert not [*keyed.add(ELEMENTS[0]), *keyed.add(ELEMENTS[1]), *keyed.add(ELEMENTS[0])]

    found = {key: unpack(batch) for key, batch in keyed.flush()}
    assert found == {"Record": [ELEMENTS[0]] * 2, "Rejected": [ELEMENTS[1]]}
    assert not list(keyed.flush())


def test_keyed_batches_do_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(batches, "_MAX_WAITING", 3)
    keyed = batches.KeyedBatches(lambda _: "")
    given = [[len(unpack(batch)) for _, batch in keyed.add(ELEMENTS[0])] for _ in range(7)]
    assert given == [[], [], [3], [], [], [3], []]

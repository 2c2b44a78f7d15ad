"""Statistics merge in any order; the plan is made from them, or has the problem."""

import itertools
import pickle
import re

import pytest
from inspecting import Inspected, examples_of, packed, table_of

from beam_pipeline.assign.assign_shards import merged_statistics
from beam_pipeline.assign.dataset_plan import declared_classes, make_plan
from beam_pipeline.assign.packing import Packer
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, DataError, MostlyBadError
from beam_pipeline.records import ClassLabel, DeclaredClasses, FileRef, Image, Rejected
from beam_pipeline.running.pickling import Parcel
from beam_pipeline.sources.unread import not_read


def counted(records=0, bad=0, fine_rejects=0, unread=0, *, split="train", label="cat", prefix=""):
    """Return statistics of these numbers of images and rejects."""
    statistics = Statistics()
    rows = []
    for i in range(records):
        sha256 = f"{i:064x}"
        image = Image(file=FileRef(path=f"/{i}", sha256=sha256), format="jpeg")
        record = Inspected(
            key=f"{prefix}{i}",
            features={"image": image, "label": ClassLabel(label)},
            content_digest=sha256,
            num_bytes=10,
            notes={"box clipped": 1},
        )
        statistics.observe(examples_of(record), [split])
        rows.append((record, split, i << 48))
    if rows:
        statistics.add_rows(table_of(rows))
    for i in range(bad):
        rejected = Rejected(source=f"{prefix}{i}", reason="truncated image", detail="d")
        statistics.add_rejected(rejected)
    for i in range(fine_rejects):
        statistics.add_rejected(Rejected(source=f"{i}", reason="duplicate", detail="d", bad=False))
    for i in range(unread):
        statistics.add_rejected(not_read(f"scans/{i}.mat"))
    return statistics


def test_records_are_numbered_over_all_splits():
    statistics = counted(6, split="val", prefix="v")
    statistics.merge(counted(4, split="test", prefix="t"))
    plan = make_plan(statistics, BuildConfig(name="t", num_shards=2))

    shards = [(split, shard) for split in ("test", "val") for shard in (0, 1)]
    assert [plan.first_number(*shard) for shard in shards] == [0, 2, 4, 7]


@pytest.mark.parametrize(
    ("ids", "numbered"),
    [
        pytest.param(["7", "8"], False, id="every record has an id"),
        pytest.param(["7", ""], True, id="a number might be another record's id"),
        pytest.param(["", ""], True, id="none has"),
    ],
)
def test_when_a_records_number_is_its_source_id(ids, numbered):
    merged = Statistics()
    for number, source_id in enumerate(ids):
        statistics = Statistics()
        record = Inspected(
            key=f"{number}", features={"x": 1}, source_id=source_id, content_digest="ab" * 32
        )
        statistics.observe(examples_of(record), ["train"])
        statistics.add_rows(table_of([(record, "train", number << 48)]))
        merged.merge(statistics)
    plan = make_plan(merged, BuildConfig(name="t"))
    assert (plan.first_number("train", 0) is not None) == numbered


@pytest.mark.parametrize(
    ("records", "bad", "allowed", "fine"),
    [
        pytest.param(10, 0, 0.0, True, id="nothing is bad"),
        pytest.param(10, 1, 0.0, False, id="one is too many by default"),
        pytest.param(9, 1, 0.1, True, id="as many as allowed"),
        pytest.param(8, 2, 0.1, False, id="more than allowed"),
        pytest.param(71, 29, 0.29, True, id="29 of 100 are not more than 0.29"),
        pytest.param(43, 57, 0.57, True, id="57 of 100 are not more than 0.57"),
        pytest.param(1, 9, 1.0, True, id="all may be bad"),
    ],
)
def test_max_bad_fraction(records, bad, allowed, fine):
    plan = make_plan(counted(records, bad), BuildConfig(name="t", max_bad_fraction=allowed))
    assert (plan.problem is None) == fine
    if not fine:
        assert isinstance(plan.problem, DataError)
        assert f"{bad} of {records + bad} records invalid" in str(plan.problem)
        assert "first: 0: truncated image (d)" in str(plan.problem)


@pytest.mark.parametrize(
    ("records", "bad", "remedy"),
    [
        pytest.param(999, 1, "or pass --max-bad-fraction 0.001", id="one of a thousand"),
        pytest.param(2000, 1, "or pass --max-bad-fraction 0.001", id="rounded up"),
        pytest.param(76, 24, "or pass --max-bad-fraction 0.24", id="less than a quarter"),
        pytest.param(75, 25, "", id="a quarter, which is not left out"),
        pytest.param(498, 537, "", id="more than half"),
    ],
)
def test_the_remedy_of_bad_records_is_what_leaves_them_out(records, bad, remedy):
    problem = make_plan(counted(records, bad), BuildConfig(name="t")).problem
    assert str(problem).endswith(f"(d). Fix them{', ' * bool(remedy)}{remedy}")
    assert isinstance(problem, MostlyBadError) == (not remedy)
    if remedy:
        fraction = float(remedy.rpartition(" ")[2])
        assert (
            make_plan(counted(records, bad), BuildConfig(max_bad_fraction=fraction)).problem is None
        )


def test_as_many_files_that_are_not_read_as_records_are_no_question():
    assert make_plan(counted(3, unread=3), BuildConfig(name="t")).problem is None


def nothing_observed():
    statistics, record = Statistics(), Inspected(key="a", features={}, content_digest="0" * 64)
    statistics.observe(examples_of(record), ["train"])
    statistics.add_rows(table_of([(record, "train", 0)]))
    return statistics


@pytest.mark.parametrize(
    ("statistics", "options", "kind", "message"),
    [
        (counted(), {}, DataError, "no record is left to write of 0 found .the input is empty"),
        (counted(fine_rejects=2), {}, DataError, "of 2 found .2 × duplicate"),
        (nothing_observed(), {}, DataError, "^no record of 1 found has a value"),
        (
            *(counted(3), {"num_shards": {"tset": 1}}),
            *(ConfigError, "'tset', but the data has train"),
        ),
        (counted(3, unread=4), {}, ConfigError, "pass --ignore '[*].mat' to leave them out$"),
        (counted(1), {"classes": ("dog",)}, DataError, "undeclared classes: cat"),
    ],
)
def test_problems(statistics, options, kind, message):
    problem = make_plan(statistics, BuildConfig(name="t", max_bad_fraction=1, **options)).problem
    assert isinstance(problem, kind)
    assert re.search(message, str(problem))


def test_statistics_merge_alike_in_any_order():
    parts = [
        counted(150, 80, prefix="a", label="cat"),
        counted(20, 70, prefix="b", split="test", label="dog"),
        counted(3, 1, 5, prefix="c", label="eel"),
    ]
    plans = set()
    for order in itertools.permutations(parts):
        first, *others = pickle.loads(pickle.dumps([Parcel(part) for part in order]))
        merged = merged_statistics([Parcel(merged_statistics(others).value), first]).value
        plan = make_plan(merged, BuildConfig(name="t", max_bad_fraction=1))
        rejects = merged.first_rejects, sorted(merged.rejected.items())
        plans.add(repr((plan.splits, plan.schema, *rejects)))
        assert merged.num_records == 173
        assert merged.notes == {"box clipped": 173}
        assert len(merged.first_rejects) == 100
    assert len(plans) == 1


def declared(*files):
    statistics = counted(1)
    for names in files:
        statistics.add_declared(DeclaredClasses(feature="label", names=names))
    return statistics


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param([{2: "dog", 1: "cat"}], ("cat", "dog"), id="by number"),
        pytest.param([{1: "cat"}, {7: "dog"}], ("cat", "dog"), id="of several files"),
        pytest.param([{1: "cat"}, {1: "cat", 5: "dog"}], ("cat", "dog"), id="files that agree"),
        pytest.param([{1: "cat", 2: "dog", 3: "cat"}], ("cat", "dog"), id="a name twice"),
    ],
)
def test_declared_classes(files, expected):
    assert declared_classes(declared(*files), ()) == {"label": expected}


def test_two_splits_that_would_have_one_name_are_refused():
    packer = Packer(BuildConfig(name="t"))
    statistics = Statistics()
    names = ("train-set", "train_set", "训练", "测试", "re\u0301el", "r\u00e9el")
    for number, split in enumerate(names):
        record = Inspected(
            key=f"{number}", features={"x": 1}, split=split, content_digest=f"{number:064x}"
        )
        statistics.merge(packed(packer, [record]).statistics.take())
    assert set(statistics.stated_splits) == {"train_set", "训练", "测试", "r\u00e9el"}
    statistics.num_records = len(names)
    problem = make_plan(statistics, BuildConfig(name="t")).problem
    assert isinstance(problem, ConfigError)
    assert str(problem).startswith("the splits 'train-set' and 'train_set' of the input would both")


@pytest.mark.parametrize(
    "reasons", [["empty file", "missing file"], ["missing file", "empty file"]]
)
def test_reasons_of_as_many_rejects_have_one_order(reasons):
    statistics = Statistics()
    for reason in reasons:
        statistics.add_rejected(Rejected(source="a", reason=reason, detail="d"))
    problem = make_plan(statistics, BuildConfig(name="t", max_bad_fraction=1)).problem
    assert "of 2 found (1 × empty file, 1 × missing file)" in str(problem)

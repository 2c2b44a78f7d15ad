"""Checks of a dataset's quality: good, doubtful or wrong, in words and with a remedy."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from beam_pipeline.assign.statistics import DUPLICATE
from beam_pipeline.kinds.wording import brief, count_classes
from beam_pipeline.records import NOT_READ
from tfrecord_dataset.shown_text import counted

Level = Literal["green", "amber", "red"]

_MANY_REJECTS = 0.01
_IMBALANCE = 20.0
_FEW_IN_A_SPLIT = 3  # records of a class
_RARE = 10
_DRIFT = 0.25
_ENOUGH = 30  # records of a split, for meaningful shares


class Check(NamedTuple):
    """One check: subject, finding, remedy ("" if none is needed), the section with details."""

    level: Level
    title: str
    text: str
    remedy: str = ""
    link: str = ""


def checks(metadata: Mapping[str, Any], figures: Mapping[str, Any]) -> Iterator[Check]:
    """Yield all checks in the order of the page, given metadata.json; {} for plain files."""
    total = sum(split["records"] for split in figures["splits"])
    if metadata:
        may_be_bad = metadata.get("config", {}).get("max_bad_fraction", 0) > 0
        yield _rejects(metadata.get("rejected", {}), total, may_be_bad=may_be_bad)
        yield _changes(metadata.get("changes", {}))
        yield from duplicate_checks(metadata)
    yield _splits(figures["splits"])
    for each in map(_with_short_names, figures["classes"]):
        where = "" if each["exact"] else f" in {figures['sample']}"
        yield from _classes(each, figures["splits"], where)
        yield from _labels(each, figures)
    for each in figures["objects"]:
        if "duplicates" in metadata:
            number = sum(metadata.get("without_boxes", {}).values())
            yield _empty(number, total, f"all {total:,} images")
        else:
            yield _empty(each["empty"], figures["sampled"], figures["sample"])
    for each in figures["numbers"]:
        if number := sum(row["missing"] or 0 for row in each["splits"]):
            text = f"{each['feature']!r} has none in {number:,} of {total:,} records"
            yield Check("amber", "missing values", text, "check that this is intended", "numbers")
        if each["drift"] > _DRIFT:
            yield Check(
                "amber",
                "drift",
                f"means of {each['feature']!r} differ between splits by {each['drift']:.2f} "
                "standard deviations",
                "draw the splits at random, or with --group-by",
                "numbers",
            )


def _with_short_names(classes: Mapping[str, Any]) -> dict[str, Any]:
    return {**classes, "rows": [{**row, "name": brief(row["name"])} for row in classes["rows"]]}


def _rejects(rejected: Mapping[str, int], total: int, *, may_be_bad: bool) -> Check:
    """Check the rejects: a build that allows no bad record has only rejected non-data."""
    counts = {reason: count for reason, count in rejected.items() if reason != DUPLICATE}
    if not counts:
        return Check("green", "rejects", "nothing was left out")
    number, summary = sum(counts.values()), _counts(counts)
    if may_be_bad:
        level: Level = "red" if number > _MANY_REJECTS * total else "amber"
        return Check(level, "rejects", summary, "repair them, and build again", "rejects")
    if NOT_READ in counts:
        remedy = "pass --ignore for files that should be left out"
        return Check("amber", "rejects", summary, remedy, "rejects")
    return Check("green", "rejects", f"no data among the rejects: {summary}", "", "rejects")


def _changes(changes: Mapping[str, int]) -> Check:
    if not changes:
        return Check("green", "changes", "every value is stored as it was")
    return Check("amber", "changes", _counts(changes), "check that this is intended")


def duplicate_checks(metadata: Mapping[str, Any]) -> Iterator[Check]:
    """Yield the checks of equal and similar records."""
    if "duplicates" in metadata:  # `adopt` looks for none
        yield from _duplicates(metadata["duplicates"])
    yield from _near_duplicates(metadata.get("near_duplicates"))


def _duplicates(duplicates: Mapping[str, Any]) -> Iterator[Check]:
    groups = duplicates.get("groups", 0)
    if not groups:
        yield Check("green", "duplicates", "no duplicate content")
        return
    records = counted(duplicates["records"], "record")
    text = f"{records} in {counted(groups, 'group')} of equal content"
    yield Check("amber", "duplicates", text, "--duplicates drop keeps one of each", "duplicates")
    if number := duplicates.get("across_splits"):
        yield Check(
            "red",
            "leaks",
            f"{counted(number, 'content')} in more than one split",
            "pass --duplicates drop to remove them: they leak training data into tests",
            "duplicates",
        )
    if number := duplicates.get("conflicting"):
        first = duplicates["examples"][0]
        named = (
            f"{key} ({label})" if label else key
            for key, label in zip(first["keys"], first["labels"], strict=False)
        )
        yield Check(
            "red",
            "contradictions",
            f"{counted(number, 'group')} of duplicates with different annotations, such as "
            f"{', '.join(named)}",
            "correct the labels of those listed",
            "duplicates",
        )


def _near_duplicates(near: Mapping[str, Any] | None) -> Iterator[Check]:
    if near is None:
        return
    title = "near-duplicates"
    if not near["groups"]:
        yield Check("green", title, "no similar images")
        return
    text = f"{counted(near['records'], 'record')} in {counted(near['groups'], 'group')}"
    if not (number := near["across_splits"]):
        yield Check("amber", title, f"{text}, each in one split", "inspect them", title)
        return
    remedy = "--near-duplicates group keeps them in one split, if the input states no splits"
    yield Check("red", title, f"{text}, {number:,} of them in several splits", remedy, title)


def _splits(splits: Any) -> Check:
    named = ", ".join(f"{split['name']} {split['records']:,}" for split in splits)
    if len(splits) == 1:
        remedy = "--split train=0.8,validation=0.1,test=0.1 keeps some to test on"
        return Check("amber", "splits", f"only one split: {named}", remedy, "splits")
    return Check("green", "splits", named, "", "splits")


def _classes(classes: Mapping[str, Any], splits: Any, where: str) -> Iterator[Check]:
    """Check the classes' counts; `where` is " in a sample of 60 records" unless they are of all."""
    rows = classes["rows"]
    there = [row for row in rows if row["total"]]
    name = f"classes of {classes['feature']!r}"
    if len(there) < 2:
        text = f"only {there[0]['name']!r} occurs" if there else "no record has one"
        yield Check("red", name, text + where, "add records of another class", "classes")
        return
    if unused := [row["name"] for row in rows if not row["total"]]:
        text = f"{count_classes(unused)} without a record{where}: {_some(unused)}"
        yield Check("amber", name, text, "leave them out of --classes, or add records", "classes")
    missing = [
        f"{row['name']} in {split['name']}"
        for row in there
        for split, count in zip(splits, row["splits"], strict=True)
        if not count and split["records"]
    ]
    if missing and classes["exact"]:
        text = f"without a record: {_some(missing)}"
        yield Check("amber", name, text, "a larger split, or more records of them", "classes")
    few = [
        f"{row['name']} {count} in {split['name']}"
        for row in reversed(there)
        for split, count in zip(splits, row["splits"], strict=True)
        if 0 < count < _FEW_IN_A_SPLIT <= split["records"]
    ]
    if few and len(splits) > 1 and classes["exact"] and not classes["of_objects"]:
        remedy = "a larger split: each mistake in it moves the recall of the class by much"
        yield Check("amber", "few records of a class", _some(few), remedy, "classes")
    most, least = there[0], there[-1]
    ratio = most["total"] / least["total"]
    if ratio > _IMBALANCE or least["total"] < _RARE:
        counts = f"{most['name']} {most['total']:,} times, {least['name']} {least['total']:,} times"
        remedy = "pass --class-weights balanced to the training"
        yield Check("amber", "imbalance", counts + where, remedy, "classes")
    else:
        spread = f"{most['total']:,}"
        if least["total"] < most["total"]:
            spread = f"{least['total']:,} to {spread}"
        text = f"{count_classes(there)}, each {spread} times{where}"
        yield Check("green", name, text, "", "classes")


def _labels(classes: Mapping[str, Any], figures: Mapping[str, Any]) -> Iterator[Check]:
    """Check for records without a class, and splits with another distribution of classes."""
    if classes["of_objects"]:
        return
    name = f"labels of {classes['feature']!r}"
    if number := classes["without"]:
        text = f"{number:,} of {figures['sample']} have none"
        yield Check("amber", name, text, "label them, or leave them out with --ignore", "classes")
    if not classes["exact"]:
        return
    rows = [row for row in classes["rows"] if row["total"]]
    total = sum(row["total"] for row in rows)
    for place, split in enumerate(figures["splits"]):
        number = sum(row["splits"][place] for row in rows)
        if number < _ENOUGH or number == total:
            continue
        apart = [row["splits"][place] / number - row["total"] / total for row in rows]
        if sum(map(abs, apart)) / 2 > _DRIFT:
            most = max(range(len(rows)), key=lambda each: abs(apart[each]))
            row = rows[most]
            text = (
                f"{split['name']} has another class distribution: {row['name']} is "
                f"{row['splits'][place] / number:.0%} of it, and {row['total'] / total:.0%} of all"
            )
            yield Check("amber", "drift", text, "draw the splits at random", "classes")


def _empty(empty: int, number: int, where: str) -> Check:
    share = empty / max(1, number)
    text = f"{empty:,} of {where} have none"
    if not share:
        return Check("green", "objects", f"in each of {where}", "", "objects")
    if share > 0.5:
        return Check("amber", "objects", text, "check that their annotations exist", "objects")
    return Check("green", "objects", text, "", "objects")


def _counts(by_name: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} × {name}" for name, count in by_name.items())


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")

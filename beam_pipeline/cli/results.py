"""The results of `plan`, `verify`, `show` and `diff`, as text or JSON."""

import base64
import dataclasses
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from beam_pipeline.assign.dataset_plan import Preview
from beam_pipeline.cli.summary import Warned
from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.difference import Difference
from beam_pipeline.dataset.opening import Dataset
from beam_pipeline.dataset.shards import read_examples
from beam_pipeline.describe.metadata import facts_of_records, main_classes
from beam_pipeline.kinds.wording import brief
from beam_pipeline.report.drawing import draw_example
from beam_pipeline.sources.layout import Claim
from tfrecord_dataset.format.value_forms import form_of
from tfrecord_dataset.inner_paths import name_part
from tfrecord_dataset.shown_text import counted, one_line, printable


def plan_json(preview: Preview, config: BuildConfig, claim: Claim, lines: Sequence[str]) -> str:
    """Render a plan as one object."""
    plan, statistics = preview
    facts = facts_of_records(config, plan, statistics)
    duplicates = ("groups", "records", "conflicting", "across_splits")
    return _text(
        {
            "input": understood(claim),
            "num_records": statistics.num_records,
            "splits": {
                split: {
                    "num_records": cut.num_records,
                    "num_shards": cut.num_shards,
                    "num_bytes": cut.num_bytes,
                }
                for split, cut in plan.splits.items()
            },
            "features": [feature.to_json() for feature in plan.schema],
            "classes": list(main_classes(plan.schema)),
            "rejected": facts["rejected"],
            "first_rejects": [
                {"source": source, "reason": reason, "detail": detail}
                for source, reason, detail in statistics.first_rejects
            ],
            "changes": facts["changes"],
            "duplicates": {name: facts["duplicates"][name] for name in duplicates},
            "warnings": [line for line in lines if isinstance(line, Warned)],
            "problem": None if plan.problem is None else str(plan.problem),
        }
    )


def understood(claim: Claim) -> dict[str, str]:
    """Return what the input was read as, by role; several lines of a role are joined."""
    facts: dict[str, list[str]] = {"layout": [claim.layout]}
    for what, text in claim.understood:
        facts.setdefault(what, []).append(text)
    return {what: "; ".join(texts) for what, texts in facts.items()}


def verification_json(info: Dataset, problems: Sequence[str]) -> str:
    """Render the result of `verify` as one object."""
    return _text(
        {
            "path": info.path,
            "num_records": {split: info.num_records(split) for split in info.splits},
            "num_shards": {split: len(shards) for split, shards in info.splits.items()},
            "problems": list(problems),
        }
    )


def difference_json(difference: Difference) -> str:
    """Render the differences of two datasets as one object."""
    return _text({"equal": not difference} | dataclasses.asdict(difference))


def difference_text(difference: Difference) -> str:
    """Render the differences, one per line; "" if there are none."""
    return "\n".join(map(one_line, _difference_lines(difference)))


def _difference_lines(difference: Difference) -> Iterator[str]:
    for name, counts in difference.records.items():
        total = sum(counts.values())
        parts = ", ".join(f"{count:,} {split}" for split, count in counts.items())
        yield f"{name}: {counted(total, 'record')} ({parts})"
        examples = difference.examples[name]
        more = ", …" if total > len(examples) else ""
        yield f"  {', '.join(printable(example, keeps='') for example in examples)}{more}"
    for title, changes in (("feature", difference.features), ("option", difference.options)):
        for name, (old, new) in changes.items():
            yield f"{title} {name}: {_option(old)} → {_option(new)}"


def _option(value: Any) -> str:
    return brief("none" if value is None else json.dumps(value, ensure_ascii=False))


def examples(
    info: Dataset, split: str | None, limit: int, folder: Path | None = None
) -> Iterator[tuple[str, dict[str, Any], Path | None]]:
    """Yield (split, Example, path of its image) of the first `limit` records per split."""
    records = (
        (name, example)
        for name in ([split] if split else info.splits)
        for example in itertools.islice(read_examples(info, name), limit)
    )
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    for number, (name, example) in enumerate(records):
        path = None
        if folder and (image := draw_example(info.schema, example)) is not None:
            (source,) = example.get("image/filename", [])[:1] or [b"record"]
            stem = Path(source.decode(errors="replace")).stem
            path = folder / f"{name_part(f'{name}-{number:05d}-{stem}')}.jpg"
            image.save(path, "JPEG", quality=92, subsampling="4:4:4")
        yield name, example, path


def record_json(split: str, example: Mapping[str, Sequence[Any]], drawn: str | None) -> str:
    """Render a record as one object in one line, with binary values as base64."""
    values = {key: [_value(each) for each in some] for key, some in example.items()}
    return _text({"split": split, **({"drawn": drawn} if drawn else {}), "values": values})


def _value(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    if not value or form_of(value) == "text":
        return value.decode()
    return {"base64": base64.b64encode(value).decode()}


def _text(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, ensure_ascii=False)

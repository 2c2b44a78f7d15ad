"""`show`: the first records of each split, as text or as images."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from beam_pipeline.dataset.opening import Dataset
from beam_pipeline.dataset.shards import read_examples
from beam_pipeline.report.drawing import draw_example
from tfrecord_dataset.inner_paths import name_part


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

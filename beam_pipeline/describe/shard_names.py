"""What TFDS calls the shards of a split, where others named them."""

from collections.abc import Sequence

_NUMBERS = {"{SHARD_X_OF_Y}": "{0:05d}-of-{1:05d}", "{SHARD_INDEX}": "{0:05d}"}


def template_of(files: Sequence[str]) -> str:
    """The `filepathTemplate` that gives the names of a split's shards, in order; or "".

    TFDS counts shards from 0 with five digits (core/naming.py, ShardedFileTemplate).
    """
    count = len(files)
    if any(set("{}%") & set(file) for file in files):
        return ""
    for variable, number in _NUMBERS.items():
        numbers = [number.format(shard, count) for shard in range(count)]
        templates = {
            file.replace(each, variable) if file.count(each) == 1 else ""
            for file, each in zip(files, numbers, strict=True)
        }
        if len(templates) == 1 and variable in min(templates):
            return templates.pop()
    return files[0] if count == 1 else ""

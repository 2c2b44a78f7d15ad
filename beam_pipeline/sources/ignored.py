"""`--ignore`: files and folders of the input that are as good as not there."""

import dataclasses
import fnmatch
from collections.abc import Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.sources.paths import joined
from tfrecord_dataset.store.urls import unsigned


@dataclasses.dataclass(frozen=True, slots=True)
class Ignored:
    """Which files and folders are left out, by patterns with `*`, `?` and `[…]`.

    A pattern without "/" is held against the names of files and of folders ("*_mask.png",
    "masks"), one with "/" against as many names in a row ("train/masks"), wherever these lie. A
    folder is left out with all that it holds.

    Attributes:
        patterns: What a user wrote.
        base: Where below the input the paths begin that are asked for; "" is the input.
    """

    patterns: tuple[str, ...] = ()
    base: str = ""

    def __bool__(self) -> bool:
        return bool(self.patterns)

    @classmethod
    def of(cls, config: BuildConfig, path: str) -> "Ignored":
        """What a build leaves out of the folder at `path`, which its input is or holds."""
        top, here = (unsigned(each).rstrip("/") for each in (config.input, path))
        is_below = here.startswith(f"{top}/")
        return cls(tuple(config.ignore), here[len(top) + 1 :] if is_below else "")

    def inside(self, folder: str) -> "Ignored":
        """The same for paths that begin in a folder."""
        return Ignored(self.patterns, joined(self.base, folder)) if folder else self

    def __call__(self, relative: str) -> bool:
        """Whether what is at a path is left out."""
        return bool(self.patterns) and bool(self.fitting(relative))

    def fitting(self, relative: str) -> frozenset[str]:
        """The patterns that a path fits."""
        path = joined(self.base, relative)
        return frozenset(each for each in self.patterns if _fits(path, each))

    def kept(self, folder: str, names: Sequence[str]) -> Sequence[str]:
        """Of names in a folder those that are not left out."""
        if not self.patterns:
            return names
        return [name for name in names if not self(joined(folder, name))]


NOTHING = Ignored()


def _fits(path: str, pattern: str) -> bool:
    names, wanted = path.split("/"), pattern.strip("/").split("/")
    return any(
        all(map(fnmatch.fnmatchcase, names[start:], wanted))
        for start in range(len(names) - len(wanted) + 1)
    )

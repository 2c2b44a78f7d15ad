"""`--ignore`: files and folders of the input to leave out."""

import dataclasses
import fnmatch
from collections.abc import Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.sources.paths import joined
from tfrecord_dataset.store.urls import unsigned


@dataclasses.dataclass(frozen=True, slots=True)
class Ignored:
    """Patterns of files and folders to leave out, with `*`, `?` and `[…]`.

    A pattern without "/" matches names of files and folders ("*_mask.png", "masks"), one with "/"
    consecutive names ("train/masks"), at any depth. A folder is left out with its content.

    Attributes:
        patterns: The user's patterns.
        base: The folder below the input that checked paths are relative to; "" is the input.
    """

    patterns: tuple[str, ...] = ()
    base: str = ""

    @classmethod
    def of(cls, config: BuildConfig, path: str) -> "Ignored":
        """Return a build's patterns for its input or a folder inside it."""
        top, here = (unsigned(each).rstrip("/") for each in (config.input, path))
        is_below = here.startswith(f"{top}/")
        return cls(tuple(config.ignore), here[len(top) + 1 :] if is_below else "")

    def inside(self, folder: str) -> "Ignored":
        """Return the same patterns for paths relative to a folder."""
        return Ignored(self.patterns, joined(self.base, folder)) if folder else self

    def __call__(self, relative: str) -> bool:
        """Whether a path is left out."""
        return any(_fits(joined(self.base, relative), pattern) for pattern in self.patterns)

    def kept(self, folder: str, names: Sequence[str]) -> Sequence[str]:
        """Return the names in a folder that are not left out."""
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

"""Open questions and refusals of an input as data, with the table of sentences that say them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from beam_pipeline.errors import ConfigError

# One sentence for each code; `{name}` is a fact. A sentence without an option ends with its remedy.
SENTENCES: Mapping[str, str] = {
    "ambiguous": "{path} can be read in {number} ways: {ways}",
    "unclear": "{path} cannot be read as it is: {why}",
    "unknown layout": "{path} has no known layout: it holds {held}",
    "layout does not fit": "{path} cannot be read as {layout}: it holds {held}, and no {sign}",
    "no such input": "the input {path!r} does not exist",
    "no file": "{path} has no file; name a folder with data",
}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """An open question or a refusal of an input.

    Attributes:
        code: A key of `SENTENCES`.
        facts: The values that its sentence names.
        option: The `BuildConfig` field that decides; "" means the recipe.
        choices: The values that the option may have.
    """

    code: str
    facts: Mapping[str, object] = field(default_factory=dict)
    option: str = ""
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        sentence = SENTENCES[self.code].format_map(self.facts)
        return f"{sentence}; {self._remedy()}" if self.option else sentence

    def _remedy(self) -> str:
        typed = f"--{self.option.replace('_', '-')}"
        choices = " or ".join(filter(None, (", ".join(self.choices[:-1]), *self.choices[-1:])))
        return f"set {self.option} ({typed})" + (f" to {choices}" if choices else "")


class ProblemError(ConfigError):
    """An input has an open question, or cannot be read.

    Attributes:
        problem: What it is.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem

"""What becomes of a sound."""

import dataclasses

from beam_pipeline.errors import ConfigError

_MAX_SAMPLE_RATE = 1_000_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AudioOptions:
    """How sounds are stored.

    Attributes:
        sample_rate: Samples a second to resample to; None keeps each sound's own.
        mono: Whether channels are averaged into one.

    Raises:
        ConfigError: The sample rate is out of range.
    """

    sample_rate: int | None = None
    mono: bool = False

    def __post_init__(self) -> None:
        if self.sample_rate is not None and not 1 <= self.sample_rate <= _MAX_SAMPLE_RATE:
            raise ConfigError(
                f"audio sample rate {self.sample_rate}: give 1 to {_MAX_SAMPLE_RATE} a second"
            )

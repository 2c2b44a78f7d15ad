"""What becomes of a sound: checked in `inspect_audio`, stored by `encode_audio`.

The rules, in the order in which they are applied:

1. The format is told by the magic bytes, never by the file's name: WAV (PCM of 8, 16, 24 or 32
   bits, float of 32 or 64), FLAC, and OGG with Vorbis or Opus. Nothing else is read.
2. The whole of it is decoded by libsndfile, which the trainer has too. WAV's chunks and OGG's pages
   are held against the file's length besides, since libsndfile is content with what is there.
3. It is stored as it is, byte for byte, unless the options ask for another sample rate or fewer
   channels than it has.
4. `mono` averages the channels, `sample_rate` resamples (soxr, HQ); the result is a WAV: 16-bit PCM
   where the source has 16 bits or fewer or is OGG, else 32-bit float. What resampling lifts beyond
   full scale is clipped in 16 bits, and kept as a float.

`AudioFacts.conversions` names each rule that changed something; when it is empty the file's own
bytes are stored. The same bytes come out each time with the same soxr on the same kind of machine.
"""

import contextlib
import dataclasses
import io
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from beam_pipeline import records
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.media import ogg, wav
from beam_pipeline.media.audio_format import (
    DAMAGED,
    MAX_SAMPLE_RATE,
    MAX_VALUES,
    NO_SAMPLES,
    TOO_LARGE,
    UNSUPPORTED,
    sniff,
)

_16_BITS_AT_MOST = frozenset({"PCM_S8", "PCM_U8", "PCM_16", "VORBIS", "OPUS"})
_BLOCK_VALUES = 1 << 16
_HEADER_BYTES = 60
# Where a FLAC does not state its length, libsndfile says so.
_UNKNOWN_LENGTH = 2**62

Samples = npt.NDArray[np.float32]


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
        if self.sample_rate is not None and not 1 <= self.sample_rate <= MAX_SAMPLE_RATE:
            raise ConfigError(
                f"audio sample rate {self.sample_rate}: give 1 to {MAX_SAMPLE_RATE} a second"
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AudioFacts:
    """What `inspect_audio` found, and what will be stored.

    Attributes:
        format: "wav", "flac" or "ogg": the stored encoding.
        sample_rate: Samples a second, stored.
        num_samples: Samples of each channel, stored.
        channels: As stored.
        conversions: Why the sound is encoded again: "mono", "resampled", "format flac"; empty: the
            file's own bytes are stored.
        estimated_bytes: What the stored sound will take.
    """

    format: str
    sample_rate: int
    num_samples: int
    channels: int
    conversions: tuple[str, ...]
    estimated_bytes: int


def inspect_audio(data: bytes, options: AudioOptions) -> AudioFacts:
    """Checks the whole of an encoded sound and decides how it is stored.

    What passes, libsndfile decodes to the sample rate, samples and channels stated, all of them
    finite, and so does TensorFlow's `decode_wav` where it is a WAV of 16-bit PCM with nothing but
    the 44 bytes of its header beside the samples.

    Raises:
        RecordError: "empty file", "not audio", "truncated audio", "damaged audio",
            "audio without samples", "audio too large" or "unsupported audio".
    """
    source_format = sniff(data)
    stated = wav.check(data) if source_format == "wav" else None
    if source_format == "ogg":
        ogg.check(data)
    with _opened(data, source_format) as sound:
        _check_header(sound, source_format)
        stated = sound.frames if stated is None else stated
        found = sum(map(len, _blocks(sound, source_format)))
        sample_rate, channels, encoding = sound.samplerate, sound.channels, _encoding(sound)
    if found != stated:
        raise RecordError(
            DAMAGED,
            f"{source_format.upper()}: {found:,} samples decode, its header says {stated:,}",
        )
    conversions = []
    if options.mono and channels > 1:
        conversions.append("mono")
    if options.sample_rate not in (None, sample_rate):
        conversions.append("resampled")
    if not conversions:
        return AudioFacts(
            format=source_format,
            sample_rate=sample_rate,
            num_samples=found,
            channels=channels,
            conversions=(),
            estimated_bytes=len(data),
        )
    if source_format != "wav":
        conversions.append(f"format {source_format}")
    stored_rate = options.sample_rate or sample_rate
    stored_channels = 1 if options.mono else channels
    num_samples = _resampled_length(found, sample_rate, stored_rate)
    _check_size(num_samples, stored_channels, "resampled")
    sample_bytes = 2 if encoding == "PCM_16" else 4
    return AudioFacts(
        format="wav",
        sample_rate=stored_rate,
        num_samples=num_samples,
        channels=stored_channels,
        conversions=tuple(conversions),
        estimated_bytes=_HEADER_BYTES + num_samples * stored_channels * sample_bytes,
    )


def encode_audio(data: bytes, audio: records.Audio) -> bytes:
    """The bytes to store for an inspected sound: `data` itself when nothing is converted.

    Args:
        data: The sound's file, as it was inspected.
        audio: What `inspect_audio` decided.

    Raises:
        RecordError: `data` is not what was inspected.
    """
    if not audio.conversions:
        return data
    source_format = sniff(data)
    with _opened(data, source_format) as sound:
        encoding = _encoding(sound)
        blocks = _blocks(sound, source_format)
        if audio.channels < sound.channels:
            blocks = map(_averaged, blocks)
        if audio.sample_rate != sound.samplerate:
            blocks = _resampled(blocks, sound.samplerate, audio.sample_rate, audio.channels)
        samples = np.concatenate([*blocks])
    lacking = max(0, audio.num_samples - len(samples))
    samples = np.pad(samples[: audio.num_samples], ((0, lacking), (0, 0)))
    header = wav.header(encoding, audio.sample_rate, audio.num_samples, audio.channels)
    return header + _quantised(samples, encoding)


def _soundfile() -> Any:
    import soundfile

    return soundfile


@contextlib.contextmanager
def _opened(data: bytes, source_format: str) -> Iterator[Any]:
    """The sound, opened; what libsndfile finds wrong with it becomes a RecordError."""
    soundfile = _soundfile()
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as sound:
            if sound.format.removesuffix("EX").lower() != source_format:
                raise RecordError(
                    DAMAGED, f"{source_format.upper()} by its first bytes, but no more"
                )
            yield sound
    except soundfile.SoundFileRuntimeError as error:
        raise RecordError(DAMAGED, f"{source_format.upper()}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """What libsndfile says, without the handle's address."""
    return str(getattr(error, "error_string", error)).strip().rstrip(".")


def _check_header(sound: Any, source_format: str) -> None:
    name = source_format.upper()
    if sound.frames >= _UNKNOWN_LENGTH:
        raise RecordError(
            UNSUPPORTED,
            f"{name}: its header does not say how long it is; write it to a file, not into a pipe",
        )
    if not sound.frames:
        raise RecordError(NO_SAMPLES, f"{name}: its header states none")
    if not 1 <= sound.samplerate <= MAX_SAMPLE_RATE:
        raise RecordError(DAMAGED, f"{name}: a sample rate of {sound.samplerate} Hz")
    _check_size(sound.frames, sound.channels, name)


def _check_size(num_samples: int, channels: int, name: str) -> None:
    if num_samples * channels > MAX_VALUES:
        raise RecordError(
            TOO_LARGE,
            f"{name}: {num_samples:,} samples of {channels} channels are more than the "
            f"{MAX_VALUES:,} allowed in all; cut it into pieces",
        )


def _encoding(sound: Any) -> Literal["PCM_16", "FLOAT"]:
    """How the sound is stored if it is encoded again."""
    return "PCM_16" if sound.subtype in _16_BITS_AT_MOST else "FLOAT"


def _blocks(sound: Any, source_format: str) -> Iterator[Samples]:
    """The samples, [n, channels], a block at a time: however long it is, little memory is taken."""
    size = max(1, _BLOCK_VALUES // sound.channels)
    done = 0
    while len(block := _read(sound, size, done, source_format)):
        if not np.isfinite(block).all():
            at = done + int(np.argmin(np.isfinite(block).all(axis=1)))
            raise RecordError(DAMAGED, f"{source_format.upper()}: sample {at:,} is not finite")
        done += len(block)
        yield block


def _read(sound: Any, size: int, done: int, source_format: str) -> Samples:
    """The next `size` samples, or as many as are left, after `done` of them."""
    try:
        block: Samples = sound.read(size, dtype="float32", always_2d=True)
    except _soundfile().SoundFileRuntimeError as error:
        raise RecordError(
            DAMAGED,
            f"{source_format.upper()}: of {sound.frames:,} samples, those after {done:,} are "
            "damaged or missing",
        ) from error
    return block


def _averaged(block: Samples) -> Samples:
    mean: npt.NDArray[np.float64] = block.mean(axis=1, keepdims=True, dtype=np.float64)
    return mean.astype(np.float32)


def _resampled_length(num_samples: int, source_rate: int, rate: int) -> int:
    """Samples after resampling: the same duration, rounded, but never none."""
    return max(1, (num_samples * rate + source_rate // 2) // source_rate)


def _resampled(
    blocks: Iterator[Samples], source_rate: int, rate: int, channels: int
) -> Iterator[Samples]:
    import soxr

    stream = soxr.ResampleStream(source_rate, rate, channels, dtype="float32", quality="HQ")
    for block in blocks:
        yield stream.resample_chunk(block)
    yield stream.resample_chunk(np.zeros((0, channels), np.float32), last=True)


def _quantised(samples: Samples, encoding: str) -> bytes:
    if encoding == "FLOAT":
        return samples.astype("<f4").tobytes()
    full_scale = 2.0**15  # as libsndfile and TensorFlow divide by
    levels: Samples = np.clip(np.rint(samples * full_scale), -full_scale, full_scale - 1)
    return levels.astype("<i2").tobytes()

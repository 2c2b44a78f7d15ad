"""Audio files: checked by `inspect_audio`, stored by `encode_audio`.

Rules, in this order:

1. The format is detected from the magic bytes, never from the file name: WAV (PCM of 8, 16, 24 or
   32 bits, float of 32 or 64), FLAC, OGG with Vorbis or Opus, and MP3. Other formats are rejected.
2. The whole file is decoded by libsndfile, which the trainer also uses. WAV chunks and OGG pages
   are also compared with the file's length, since libsndfile accepts truncated files.
3. The file is stored byte for byte, unless the options ask for another sample rate or for fewer
   channels.
4. `mono` averages the channels, `sample_rate` resamples (soxr, HQ); the result is a WAV: 16-bit PCM
   if the source has 16 bits or fewer, or is OGG or MP3, else 32-bit float. Samples that overshoot
   full scale in resampling are clipped in 16 bits, and kept in float.

`Audio.conversions` names each rule that changed something; when it is empty the file's own
bytes are stored. The same soxr on the same kind of machine always gives the same bytes.
"""

import contextlib
import dataclasses
import io
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from beam_pipeline.errors import RecordError, naming
from beam_pipeline.files.hashed import IN_MEMORY, hashed
from beam_pipeline.media.audio_formats import (
    DAMAGED,
    MAX_SAMPLE_RATE,
    MAX_VALUES,
    NO_SAMPLES,
    TO_PCM,
    TOO_LARGE,
    UNSUPPORTED,
    check_mp3_is_read,
    check_ogg,
    check_wav,
    mp3_states_length,
    sniff,
    wav_header,
)
from beam_pipeline.records import Audio, FileRef
from tfrecord_dataset.format.inflation import is_inflated
from tfrecord_dataset.options import Group, Option, Options

_16_BITS_AT_MOST = frozenset({"PCM_S8", "PCM_U8", "PCM_16", "VORBIS", "OPUS", "MPEG_LAYER_III"})
_SAMPLE_BYTES = {"PCM_16": 2, "FLOAT": 4}
_WAV_ENCODINGS = frozenset({"PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"})
_BLOCK_VALUES = 1 << 16
_MAX_RATIO = 1000
_HEADER_BYTES = 60
# Length that libsndfile reports for a FLAC without a stated length.
_UNKNOWN_LENGTH = 2**62

Samples = npt.NDArray[np.float32]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AudioOptions(Options):
    """How audio is stored.

        >>> speech = beam_pipeline.AudioOptions(sample_rate=16_000, mono=True)

    Raises:
        ConfigError: The sample rate is out of range.
    """

    sample_rate: Annotated[
        int | None,
        Option(
            "resample to this rate (default: keep each file's)",
            flag="--audio-sample-rate",
            metavar="HZ",
            least=1,
            most=MAX_SAMPLE_RATE,
        ),
        Group("stored audio"),
    ] = None
    mono: Annotated[bool, Option("average the channels into one", flag="--audio-mono")] = False


def inspect_audio(
    data: bytes, options: AudioOptions, file: FileRef = IN_MEMORY
) -> tuple[Audio, int]:
    """Check an audio file and decide how to store it; return it and its stored size in bytes.

    libsndfile decodes an accepted file to the stated sample rate, samples and channels, and all
    samples are finite. So does TensorFlow's `decode_wav` for a 16-bit PCM WAV with a plain header
    of 44 bytes.

    Raises:
        RecordError: "empty file", "not audio", "truncated audio", "damaged audio",
            "audio without samples", "audio too large" or "unsupported audio".
    """
    source_format = sniff(data)
    with naming(source_format.upper()):
        num_samples, source_rate, channels, encoding = _decoded(data, source_format)
        rate, num_bytes = options.sample_rate or source_rate, len(data)
        conversions = ["mono"] * (options.mono and channels > 1)
        conversions += ["resampled"] * (rate != source_rate)
        if conversions:
            channels = 1 if options.mono else channels
            conversions += [f"format {source_format}"] * (source_format != "wav")
            num_samples = _length_after_resampling(num_samples, source_rate, rate)
            num_bytes = _HEADER_BYTES + num_samples * channels * _SAMPLE_BYTES[encoding]
            _check_stored(data, num_samples, channels, num_bytes)
    audio = Audio(
        file=hashed(file, data),
        format="wav" if conversions else source_format,
        sample_rate=rate,
        num_samples=num_samples,
        channels=channels,
        conversions=tuple(conversions),
    )
    return audio, num_bytes


def encode_audio(data: bytes, audio: Audio) -> bytes:
    """Return the bytes to store for an inspected audio file: `data` itself without conversions."""
    if not audio.conversions:
        return data
    source_format = sniff(data)
    with _open(data, source_format) as file:
        encoding = _encoding(file)
        blocks = _blocks(file)
        if audio.channels < file.channels:
            blocks = map(_average, blocks)
        if audio.sample_rate != file.samplerate:
            blocks = _resample(blocks, file.samplerate, audio.sample_rate, audio.channels)
        stored = io.BytesIO()
        header = wav_header(encoding, audio.sample_rate, audio.num_samples, audio.channels)
        num_bytes = len(header) + audio.num_samples * audio.channels * _SAMPLE_BYTES[encoding]
        stored.write(header)
        for block in blocks:  # quantising by block takes a quarter of the memory
            stored.write(_quantise(block, encoding))
    stored.truncate(num_bytes)
    stored.seek(0, io.SEEK_END)
    stored.write(bytes(num_bytes - stored.tell()))
    return stored.getvalue()


def _decoded(data: bytes, source_format: str) -> tuple[int, int, int, str]:
    """Decode a whole file; return (samples, sample rate, channels, encoding if converted)."""
    stated = check_wav(data) if source_format == "wav" else None
    if source_format == "ogg":
        check_ogg(data)
    with _open(data, source_format) as file:
        _check_header(file, source_format)
        stated = file.frames if stated is None else stated
        num_samples = sum(map(len, _blocks(file)))
        found = num_samples, file.samplerate, file.channels, _encoding(file)
    if source_format == "mp3" and not mp3_states_length(data):
        check_mp3_is_read(data, num_samples)
    elif num_samples != stated:
        raise RecordError(DAMAGED, f"{num_samples:,} samples decode, the header states {stated:,}")
    return found


def _soundfile() -> Any:
    import soundfile

    return soundfile


@contextlib.contextmanager
def _open(data: bytes, source_format: str) -> Iterator[Any]:
    """Open an audio file; libsndfile's errors become RecordErrors."""
    soundfile = _soundfile()
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            if file.format.removesuffix("EX").lower() != source_format:
                raise RecordError(DAMAGED, "only its first bytes are of this format")
            yield file
    except soundfile.SoundFileRuntimeError as error:
        reason = str(getattr(error, "error_string", error))  # without the address of the handle
        raise RecordError(DAMAGED, reason.strip().rstrip(".")) from error


def _check_header(file: Any, source_format: str) -> None:
    if source_format == "wav" and file.subtype not in _WAV_ENCODINGS:
        raise RecordError(UNSUPPORTED, f"{file.subtype_info}; {TO_PCM}")
    if file.frames >= _UNKNOWN_LENGTH:
        raise RecordError(
            UNSUPPORTED,
            "its header does not state its length; write it to a file instead of a pipe",
        )
    if not file.frames:
        raise RecordError(NO_SAMPLES, "its header states none")
    if not 1 <= file.samplerate <= MAX_SAMPLE_RATE:
        raise RecordError(DAMAGED, f"a sample rate of {file.samplerate} Hz")
    _check_size(file.frames, file.channels)


def _check_size(num_samples: int, channels: int) -> None:
    if num_samples * channels > MAX_VALUES:
        raise RecordError(
            TOO_LARGE,
            f"{num_samples:,} samples of {channels} channels are more than the {MAX_VALUES:,} "
            "allowed in total; cut it into pieces",
        )


def _check_stored(data: bytes, num_samples: int, channels: int, num_bytes: int) -> None:
    """Check the size of a converted file."""
    with naming("resampled"):
        _check_size(num_samples, channels)
    if is_inflated(len(data), num_bytes, in_a_record=True):
        raise RecordError(
            TOO_LARGE,
            f"as a WAV it would have {num_bytes:,} bytes, many times its own {len(data):,}; cut it "
            "into pieces",
        )


def _encoding(file: Any) -> Literal["PCM_16", "FLOAT"]:
    """Return the encoding of a file after conversion."""
    return "PCM_16" if file.subtype in _16_BITS_AT_MOST else "FLOAT"


def _blocks(file: Any) -> Iterator[Samples]:
    """Yield blocks of samples, [n, channels], to save memory."""
    size = max(1, _BLOCK_VALUES // file.channels)
    done = 0
    while True:
        try:
            block: Samples = file.read(size, dtype="float32", always_2d=True)
        except _soundfile().SoundFileRuntimeError as error:
            detail = f"the samples after {done:,} of {file.frames:,} are damaged or missing"
            raise RecordError(DAMAGED, detail) from error
        if not len(block):
            return
        if not np.isfinite(block).all():
            at = done + int(np.argmin(np.isfinite(block).all(axis=1)))
            raise RecordError(DAMAGED, f"sample {at:,} is not finite")
        done += len(block)
        yield block


def _average(block: Samples) -> Samples:
    mean: npt.NDArray[np.float64] = block.mean(axis=1, keepdims=True, dtype=np.float64)
    return mean.astype(np.float32)


def _length_after_resampling(num_samples: int, source_rate: int, rate: int) -> int:
    """Number of samples after resampling: the same duration, rounded, at least 1."""
    if rate > _MAX_RATIO * source_rate:  # soxr takes too long; from 1 Hz to 999,000 it never ends
        raise RecordError(
            UNSUPPORTED,
            f"its {source_rate:,} Hz are too few to resample it to {rate:,} Hz, over "
            f"{_MAX_RATIO:,} times as many; correct the rate in its header, or leave it out",
        )
    return max(1, (num_samples * rate + source_rate // 2) // source_rate)


def _resample(
    blocks: Iterator[Samples], source_rate: int, rate: int, channels: int
) -> Iterator[Samples]:
    import soxr

    stream = soxr.ResampleStream(source_rate, rate, channels, dtype="float32", quality="HQ")
    at_once = max(1, _BLOCK_VALUES * source_rate // rate // channels)
    for block in blocks:
        for start in range(0, len(block), at_once):
            yield stream.resample_chunk(block[start : start + at_once])
    yield stream.resample_chunk(np.zeros((0, channels), np.float32), last=True)


def _quantise(samples: Samples, encoding: str) -> bytes:
    if encoding == "FLOAT":
        return samples.astype("<f4").tobytes()
    full_scale = 2.0**15  # the divisor of libsndfile and TensorFlow
    levels: Samples = np.clip(np.rint(samples * full_scale), -full_scale, full_scale - 1)
    return levels.astype("<i2").tobytes()

"""What `--devices` names. Imports no TensorFlow."""

import dataclasses
import re

MOST_RECORDS_PER_STEP = 1 << 20
# Each takes memory and threads before the first step.
_MOST_REPLICAS = 64
_REMEDY = "use auto, cpu, cpu:N (N replicas), gpu (all of them) or gpu:0,1 (by number)"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """The devices that `--devices` selects.

    Attributes:
        kind: "auto", "cpu" or "gpu".
        num_cpus: Logical CPU devices, one per replica, if `kind` is "cpu".
        gpus: GPU numbers if `kind` is "gpu"; empty for all.
    """

    kind: str
    num_cpus: int = 1
    gpus: tuple[int, ...] = ()


def parse_devices(text: str) -> Devices:
    """The devices that `text` names: auto, cpu, cpu:N, gpu, gpu:0,1.

    Raises:
        ValueError: `text` is none of these; continues `--devices 'text' …`.
    """
    match = re.fullmatch(r"auto|(cpu)(?::(\d+))?|(gpu)(?::(\d+(?:,\d+)*))?", text.strip().lower())
    if match is None:
        raise ValueError(f"cannot be read; {_REMEDY}")
    if match[1]:
        count = int(match[2] or 1)
        if count < 1:
            raise ValueError(f"asks for no replica; {_REMEDY}")
        if count > _MOST_REPLICAS:
            raise ValueError(f"asks for {count:,} replicas; {_MOST_REPLICAS} are the most")
        return Devices(kind="cpu", num_cpus=count)
    if match[3]:
        gpus = tuple(int(number) for number in (match[4] or "").split(",") if number)
        if len(set(gpus)) < len(gpus):
            raise ValueError("names a GPU twice; name each once")
        return Devices(kind="gpu", gpus=gpus)
    return Devices(kind="auto")


def checked_devices(text: str) -> str:
    """A text that `parse_devices` reads.

    Raises:
        ValueError: It cannot.
    """
    parse_devices(text)
    return text

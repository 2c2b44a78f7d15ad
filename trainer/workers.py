"""The worker processes of a training, as TF_CONFIG names them."""

import dataclasses
import json
import os

from trainer.errors import ConfigError


@dataclasses.dataclass(frozen=True, slots=True)
class Workers:
    """The processes of a training, from TF_CONFIG, and whether this one writes the run."""

    count: int = 1
    is_chief: bool = True


ONE_PROCESS = Workers()


def read_workers() -> Workers:
    """Parse TF_CONFIG: `{"cluster": {"worker": [...]}, "task": {...}}`; raises ConfigError."""
    text = os.environ.get("TF_CONFIG")
    if not text:
        return ONE_PROCESS
    try:
        stated = json.loads(text)
        cluster, task = stated["cluster"], stated["task"]
        count = len(cluster.get("chief", ())) + len(cluster.get("worker", ()))
        first = "chief" if cluster.get("chief") else "worker"
        return Workers(count, (task["type"], int(task["index"])) == (first, 0))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"TF_CONFIG {text!r} cannot be read ({error!r}); give it as "
            '{"cluster": {"worker": ["host:port", …]}, "task": {"type": "worker", "index": 0}}'
        ) from error

"""How far a job is."""

import enum


class JobState(enum.Enum):
    """What a cluster says of a job."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # nobody can be asked, or it has forgotten

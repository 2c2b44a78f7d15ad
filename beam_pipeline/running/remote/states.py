"""How far a job is."""

import enum


class JobState(enum.Enum):
    """What a cluster says of a job."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # it has forgotten, or there is nobody to ask
    UNREACHABLE = "unreachable"  # it does not answer; the job may go on

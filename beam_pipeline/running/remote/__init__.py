"""Jobs on other runners: what is checked before, how they are watched, what is left when they end.

- `clusters` says what is known of each kind of runner: `flink` and so on, one file each.
- `checks` finds, in seconds, what would fail after minutes.
- `launch` runs a job: its progress, its problem, Ctrl-C, a launcher that is run again.
- `job_folder` is how a stage tells the launcher of bad data, once, without a traceback.
- `boot` starts a worker process that a cluster asks for.
"""

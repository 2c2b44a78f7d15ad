"""Jobs on other runners.

- `clusters` is the interface of a runner: `flink`, `dataflow`, `portable`, one module each.
- `checks` finds, in seconds, what would fail after minutes.
- `launch` runs a job: its progress, its problem, Ctrl-C, a launcher that is run again.
- `job_folder` reports a stage's error to the launcher, once, without a traceback.
- `boot` starts a worker process that a cluster asks for.
"""

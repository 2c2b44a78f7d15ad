"""Jobs on other runners.

- `clusters` has the interface of a runner, and plain job services; `flink` and `dataflow` have one
  each.
- `preflight` finds, in seconds, what would fail after minutes.
- `launch` runs a job: its progress, its problem, Ctrl-C, a launcher that is run again.
- `boot` starts a worker process that a cluster asks for.
"""

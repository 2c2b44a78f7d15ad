"""How a job runs: the runner, worker processes, progress."""

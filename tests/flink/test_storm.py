"""Kill a part of a cluster at a seeded moment; the same command completes the build.

`make storm-flink SEEDS=10` runs ten seeds and prints a line for each.
"""

import os
import random
import shutil
import time

import pytest
from flink_cluster import wait_for_stage

pytestmark = pytest.mark.nightly

LOST = ("a TaskManager", "the JobManager", "the launcher")
STAGES = ("submit", "read", "inspect", "write")
LONGEST_PAUSE_S = 4.0
MOST_COMMANDS = 4


@pytest.mark.parametrize("seed", range(int(os.environ.get("SEEDS", "1"))))
def test_what_is_lost_costs_no_byte(cluster, launch, heavy, tmp_path, built_by, seed):
    drawn = random.Random(seed)
    lost, stage = drawn.choice(LOST), drawn.choice(STAGES)
    pause_s = drawn.uniform(0, LONGEST_PAUSE_S)
    output = tmp_path / "out"
    launcher = launch(heavy.source, output, *heavy.options)
    wait_for_stage(output, stage)
    time.sleep(pause_s)

    if lost == "a TaskManager":
        cluster.kill_task_manager()
        cluster.start_task_manager()
    elif lost == "the JobManager":
        cluster.kill_job_manager()
        cluster.start_job_manager()
    else:
        launcher.process.kill()
    codes = []
    while True:
        code, text = launcher.finish()
        codes.append(code)
        assert "Traceback" not in text
        if code == 0 or len(codes) == MOST_COMMANDS:
            break
        assert code == (-9 if lost == "the launcher" else 1), text
        cluster.wait_for_task_managers(2)
        launcher = launch(heavy.source, output, *heavy.options)

    print(f"\nseed {seed}: {lost}, {pause_s:.1f} s after {stage}: exits {codes}")
    assert code == 0, text
    assert built_by(output) == heavy.digests
    cluster.wait_for_task_managers(2)
    assert all(job["state"] != "RUNNING" for job in cluster.jobs())
    shutil.rmtree(output)

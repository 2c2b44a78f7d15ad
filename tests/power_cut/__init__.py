"""Simulate power cuts: record the calls of a program and enumerate the states of the disk.

`record` runs a program under strace, which sees every system call that changes files, from any
library. `Recording.disks` then yields the possible states of the disk after a cut between any two
of these calls, in the worst order that POSIX allows (the method of "All File Systems Are Not
Created Equal", OSDI 2014):

- the content of a file is durable once the file is synced; before, it may be present, missing,
  truncated or zeros;
- a name is durable once its folder is synced, an exchange once both folders are; other names may
  be present or not, independently, but a rename is atomic, and a folder has one name.

    recording = power_cut.record([sys.executable, "-m", …], root=tmp_path / "run")
    for disk in recording.disks():
        assert whole(disk.below("model"))     # {"a/b": its bytes}
        disk.lay_out(tmp_path / "after")      # or as real files
"""

from power_cut.recording import Disk as Disk
from power_cut.recording import Recording as Recording
from power_cut.strace import record as record

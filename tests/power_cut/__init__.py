"""What a power cut leaves of a program's files: every call is recorded, and every cut is simulated.

`record` runs a program under strace, which sees every call to the operating system that changes
files, whichever library makes it. `Recording.disks` then yields what the disk may hold after a cut
between any two of these calls, in the worst order that POSIX allows (the method of "All File
Systems Are Not Created Equal", OSDI 2014):

- what a file holds is sure once that file was synced; before, it may be there, or missing, or cut,
  or zeros;
- a name is sure once its folder was synced, an exchange of two once both were; names that are not
  sure may be there or not, each for itself, but a rename is done or not, and a folder has one name.

    recording = power_cut.record([sys.executable, "-m", …], root=tmp_path / "run")
    for disk in recording.disks():
        assert whole(disk.below("model"))     # {"a/b": its bytes}
        disk.lay_out(tmp_path / "after")      # or as real files, for whoever reads them
"""

from power_cut.recording import Disk as Disk
from power_cut.recording import Recording as Recording
from power_cut.strace import record as record

"""Exits a command on Windows with advice; imported before the modules that would fail."""

import sys

if sys.platform == "win32":
    print(
        "error: this program cannot run on Windows: it locks files and forks processes as Linux "
        "and macOS do; run it in WSL 2 (`wsl --install`), or in a container (docs/clusters.md)",
        file=sys.stderr,
    )
    sys.exit(2)

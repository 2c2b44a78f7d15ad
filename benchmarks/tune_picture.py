"""The rates of `python -m trainer tune` as a picture.

python -m trainer tune DATASET | python benchmarks/tune_picture.py > tuning.svg
"""

import json
import os
import sys

from bars import bars

if __name__ == "__main__":
    found = json.loads(sys.stdin.read().splitlines()[-1])
    rates = found["records_per_s"]
    picture = bars(
        f"Records a second, up to each stage ({os.cpu_count()} CPUs)",
        rates,
        "/s",
        marked=found["bounds"],
        others=[stage for stage in rates if "," in stage],  # with decoded images kept
    )
    sys.stdout.write(picture)

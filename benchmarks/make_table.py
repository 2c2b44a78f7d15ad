"""A CSV of numbers and texts.

python benchmarks/make_table.py FILE [--count 300000]
"""

import argparse
import random
from pathlib import Path


def main() -> None:
    """Reads the arguments and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=300_000)
    args = parser.parse_args()
    args.file.parent.mkdir(parents=True, exist_ok=True)
    numbers = random.Random(0)
    with args.file.open("w", encoding="utf-8") as file:
        file.write("id,age,fare,city,label\n")
        for row in range(args.count):
            age, fare = numbers.randint(0, 90), numbers.random() * 100
            city, label = numbers.choice(["Oslo", "Lima", "Rome"]), numbers.choice(["yes", "no"])
            file.write(f"{row},{age},{fare:.4f},{city},{label}\n")


if __name__ == "__main__":
    main()

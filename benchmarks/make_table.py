"""A CSV of numbers and texts.

python benchmarks/make_table.py FILE [--count 300000] [--columns 20] [--text-bytes 20000]
"""

import argparse
import random
from pathlib import Path

_WORD_BYTES = 8
_WORDS = [f"word{number:03d} " for number in range(1000)]


def main() -> None:
    """Reads the arguments and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=300_000)
    parser.add_argument("--columns", type=int, default=5, help="5 or more")
    parser.add_argument("--text-bytes", type=int, default=0, help="of a text in each row")
    args = parser.parse_args()
    args.file.parent.mkdir(parents=True, exist_ok=True)
    numbers = random.Random(0)
    with args.file.open("w", encoding="utf-8") as file:
        more = [f"measure_{number}" for number in range(args.columns - 5)]
        more += ["text"] * bool(args.text_bytes)
        file.write(",".join(["id,age,fare,city,label", *more]) + "\n")
        for row in range(args.count):
            age, fare = numbers.randint(0, 90), numbers.random() * 100
            city, label = numbers.choice(["Oslo", "Lima", "Rome"]), numbers.choice(["yes", "no"])
            cells = [f"{row},{age},{fare:.4f},{city},{label}"]
            cells += [f"{numbers.random() * 1000:.3f}" for _ in range(args.columns - 5)]
            if args.text_bytes:
                words = "".join(numbers.choices(_WORDS, k=args.text_bytes // _WORD_BYTES))
                cells.append(f'"{words}"')
            file.write(",".join(cells) + "\n")


if __name__ == "__main__":
    main()

"""A build whose source gives all records one key, which `build` refuses.

python benchmarks/one_key.py COUNT OUTPUT
"""

import argparse
from collections.abc import Iterator

import apache_beam as beam

import beam_pipeline


class SameKey(beam.PTransform):
    """`count` records with one key and distinct content, made in a thousand ranges."""

    def __init__(self, count: int):
        super().__init__()
        self._count = count

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[beam_pipeline.Record]:
        length = -(-self._count // 1000)
        return (
            pipeline
            | "Ranges" >> beam.Create(range(0, self._count, length))  # int
            | "Balance" >> beam.Reshuffle()  # int
            | "Records" >> beam.FlatMap(records, min(length, self._count))  # Record
        )


def records(start: int, count: int) -> Iterator[beam_pipeline.Record]:
    """Yields `count` records."""
    for number in range(start, start + count):
        yield beam_pipeline.Record(key="the key", features={"number": number})


def main() -> None:
    """Runs the build; exits with 3, like the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("output")
    args = parser.parse_args()
    config = beam_pipeline.BuildConfig(output=args.output, name="data", overwrite=True)
    try:
        beam_pipeline.build(config, source=SameKey(args.count))
    except beam_pipeline.DataError as error:
        raise SystemExit(3) from error


if __name__ == "__main__":
    main()

"""A source of your own: images listed in an SQLite database become a dataset.

    python examples/custom_source.py photos.db --output data

The database has a table `photos (path TEXT, species TEXT, camera TEXT)`, with paths relative to
the database's folder. All images of one camera go into one split.
"""

import argparse
import contextlib
import dataclasses
import os
import sqlite3
from collections.abc import Iterator

import apache_beam as beam

import beam_pipeline
from beam_pipeline import BuildConfig, ClassLabel, FileRef, Image, Record, Rejected


@dataclasses.dataclass
class ReadPhotos(beam.PTransform):
    """The photographs that a database lists: Records {image, label, camera}.

    A row without species becomes a bad Rejected, "no species".
    """

    database: str

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        return (
            pipeline
            | "Database" >> beam.Create([os.path.abspath(self.database)])  # str
            | "ReadRows" >> beam.FlatMap(read_rows)  # Record | Rejected
        )


def read_rows(database: str) -> Iterator[Record | Rejected]:
    """Yields a Record or Rejected for each row of the table."""
    folder, name = os.path.split(database)
    with contextlib.closing(sqlite3.connect(database)) as connection:
        for path, species, camera in connection.execute("SELECT path, species, camera FROM photos"):
            source = f"{name}: {path}"
            if species is None:
                yield Rejected(source=source, reason="no species", detail="the column is NULL")
                continue
            yield Record(
                key=path,  # unique, and the same in every run
                features={
                    "image": Image(file=FileRef(path=os.path.join(folder, path))),
                    "label": ClassLabel(species),
                    "camera": camera,  # any other name is a column: int, float, str or bytes
                },
                group=camera,  # records of one group share a split
                source=source,  # for messages
            )


def main() -> None:
    """Builds the dataset; prints its directory."""
    parser = argparse.ArgumentParser(description="Builds a dataset from an SQLite database.")
    parser.add_argument("database")
    parser.add_argument("--output", required=True, metavar="DATA_DIR")
    parser.add_argument("--max-bad-fraction", type=float, default=0.0)
    arguments = parser.parse_args()
    config = BuildConfig(
        name="photos",
        output=arguments.output,
        split={"train": 0.5, "test": 0.5},
        max_bad_fraction=arguments.max_bad_fraction,
    )
    info = beam_pipeline.build(config, source=ReadPhotos(arguments.database))
    print(info.path)


if __name__ == "__main__":
    main()

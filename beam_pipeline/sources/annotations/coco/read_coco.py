"""Stream COCO's files once, and join what they say of each image."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.records import Element
from beam_pipeline.running.buckets import Buckets
from beam_pipeline.running.gathering import Share, least_buckets
from beam_pipeline.running.pickling import pack
from beam_pipeline.running.spill import Spill, spill_of
from beam_pipeline.sources.annotations.coco.coco_files import CocoFile, claim_coco, coco_files
from beam_pipeline.sources.annotations.coco.coco_items import FileFacts, Reader
from beam_pipeline.sources.annotations.coco.coco_records import elements_of
from beam_pipeline.sources.gather import Entry, gathered, in_batches
from beam_pipeline.sources.layout import Claim, Layout

# One worker holds a bucket, which takes several times this size in memory.
_BUCKET_BYTES = 8 << 20
_MAX_BUCKETS = 1024
_OF_FILES = ""  # the key of facts and elements of whole files


@dataclasses.dataclass
class ReadCoco(beam.PTransform):
    """Images of COCO JSON files, with their boxes, classes, captions or panoptic maps.

    Yields a Record for every image in a file, with "boxes" in format "xywh", the attributes
    `is_crowd` and `area`, keypoints, polygons and run lengths; one DeclaredClasses per file; a bad
    Rejected for every image with an invalid annotation, for every annotation of an unknown image,
    and for a file with invalid JSON, of which nothing is used.
    """

    files: Sequence[CocoFile]
    yields_buckets: ClassVar[bool] = True

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        num_bytes = sum(size or 0 for size in storage.sizes(file.path for file in self.files))
        buckets = Buckets.of(
            num_bytes, _BUCKET_BYTES, at_least=least_buckets(pipeline), at_most=_MAX_BUCKETS
        )
        spill = spill_of(pipeline)
        return (
            pipeline
            | "Files" >> Share(self.files)  # CocoFile
            | "ReadFiles" >> beam.FlatMap(read_file, buckets, spill)  # (bucket, bytes)
            | "GroupImages" >> beam.GroupByKey()
            | "JoinImages" >> beam.FlatMap(join_bucket, spill)  # Element
        )


def read_file(file: CocoFile, buckets: Buckets, spill: Spill) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of a file's images, each in the bucket of its image; its facts in all."""
    reader = Reader(file)
    for bucket, batch in in_batches(reader.entries(), buckets):
        yield bucket, spill.put(batch)
    facts = Entry(_OF_FILES, (file.relative, 0), reader.facts)
    once = [Entry(_OF_FILES, (file.relative, 1), each) for each in reader.elements]
    yield from ((bucket, spill.put(pack([facts]))) for bucket in range(1, buckets.number))
    yield 0, spill.put(pack([facts, *once]))


def join_bucket(group: tuple[int, Iterable[bytes]], spill: Spill) -> Iterator[Element]:
    """Yield the elements of the images in one bucket."""
    facts: dict[str, FileFacts] = {}
    for key, values in gathered(spill.all(group[1])):
        if key != _OF_FILES:
            yield from elements_of(key, [*itertools.chain.from_iterable(values)], facts)
            continue
        for value in values:
            if isinstance(value, FileFacts):
                facts[value.file.relative] = value
            else:
                yield value


def _read(claim: Claim, config: BuildConfig, scratch: str) -> ReadCoco:
    return ReadCoco(coco_files(claim.path, claim.reads, config))


LAYOUT = Layout(
    name="coco",
    sign="annotations/instances_*.json, <split>/_annotations.coco.json, another COCO .json",
    claim=claim_coco,
    read=_read,
    takes=("image_root", "box_format"),
)

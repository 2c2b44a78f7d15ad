"""Settings of native libraries take effect."""

import os
import sys

import pytest
from fresh_python import printed

from beam_pipeline.running.memory import ONE_POOL, ONE_THREAD

WRITE_INDEX = """
import os, random
import numpy as np
import pyarrow.parquet
from beam_pipeline.assign import columns
from beam_pipeline.batch import from_stream
from beam_pipeline.describe import index
from tfrecord_dataset.format.declaration import features_from_json

def anonymous():
    status = open("/proc/self/status").read()
    return int(status.partition("RssAnon:")[2].split()[0]) / 1024

schema = list(features_from_json([{"name": "text", "kind": "text"}]).values())
types = index.arrow_schema(schema)
rows = [field for field in types if field.name not in ("offset", "length")]
draw = random.Random(0)
before = anonymous()
with pyarrow.parquet.ParquetWriter(os.devnull, types, compression="zstd") as parquet:
    writer = index.IndexWriter(parquet)
    for _ in range(72):  # of 50 texts, so that the last are written, too
        texts = [draw.randbytes(10_000).hex() for _ in range(50)]
        values = {field.name: [None] * 50 for field in rows} | {"text": texts}
        table = pyarrow.Table.from_pydict(values, schema=pyarrow.schema(rows))
        data = columns.to_bytes(table, compressed=False)
        writer.add(from_stream(data), np.full(50, 20_000))
        del texts, values, table, data
    print(round(anonymous() - before))
"""


IMPORT = """
import contextlib, gc, sys
from beam_pipeline.cli import program
found = []
gc.callbacks.append(lambda phase, info: found.append(phase))
sys.argv = ["beam-tfrecords", "--version"]
with contextlib.suppress(SystemExit):
    program.main()
print(len(found) // 2)
"""


def test_a_command_imports_without_garbage_collections():
    assert int(printed(IMPORT).splitlines()[-1]) < 150  # 324 before; parsers of options have some


COLLECTS = """
import gc
from beam_pipeline.running import memory
from beam_pipeline.running.worker_processes import Worker

def collects(_):
    return gc.isenabled()

with memory.importing():
    worker = Worker()
print(worker.call(collects, None))
worker.close()
"""


def test_a_process_made_during_imports_collects_garbage():
    assert printed(COLLECTS, env=os.environ | ONE_THREAD).split() == ["True"]


def grown_mib(environment: dict[str, str]) -> int:
    return int(printed(WRITE_INDEX, env=environment))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_index_of_long_texts_gives_back_the_memory_of_its_pages():
    own_pool = {name: value for name, value in os.environ.items() if name not in ONE_POOL}
    assert grown_mib(own_pool | ONE_POOL) < 0.7 * grown_mib(own_pool)  # 30 and 76 MiB

"""What a cluster builds is, byte for byte, what this machine builds."""

import shutil
import tarfile

import numpy as np
import pytest
from PIL import Image

import beam_pipeline

pytestmark = pytest.mark.nightly

VOC = """<annotation><filename>{n:03d}.jpg</filename>
  <size><width>64</width><height>48</height><depth>3</depth></size>
  <object><name>{name}</name><bndbox>
    <xmin>{x}</xmin><ymin>3</ymin><xmax>40</xmax><ymax>30</ymax>
  </bndbox></object></annotation>"""


def write_jpeg(path, seed):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


def boxes(root):
    for n in range(300):
        write_jpeg(root / f"JPEGImages/{n:03d}.jpg", n)
        text = VOC.format(n=n, name=("red", "white")[n % 2], x=n % 20)
        (root / "Annotations").mkdir(exist_ok=True)
        (root / f"Annotations/{n:03d}.xml").write_text(text)
    return root


def tar(root):
    for n in range(300):
        write_jpeg(root / f"{n:03d}.jpg", n)
        (root / f"{n:03d}.cls").write_text(str(n % 5))
    for part in range(3):
        with tarfile.open(root / f"pets-{part}.tar", "w") as archive:
            for n in range(part, 300, 3):
                for suffix in ("jpg", "cls"):
                    archive.add(root / f"{n:03d}.{suffix}", f"{n:03d}.{suffix}")
    for file in root.glob("[0-9]*"):
        file.unlink()
    return root


@pytest.mark.parametrize(
    ("write", "records"),
    [
        pytest.param(boxes, 300, id="images with boxes"),
        pytest.param(None, 5000, id="a table"),
        pytest.param(tar, 300, id="tars"),
    ],
)
def test_equal_bytes_spread_over_slots(
    cluster, launch, people, tmp_path, digests, built_by, write, records
):
    source = write(tmp_path / "input") if write else people
    launcher = launch(source, tmp_path / "there", "--name=data", "--num-shards=32")
    here = beam_pipeline.build(
        beam_pipeline.BuildConfig(
            input=str(source), output=str(tmp_path / "here"), name="data", num_shards=32
        )
    )
    code, text = launcher.finish()
    assert code == 0, text
    assert launcher.process.stdout.read() == f"{tmp_path}/there/data/1.0.0\n"
    assert built_by(tmp_path / "there") == digests(here.path)

    job = cluster.jobs()[0]
    written = cluster.records_by_slot(job, "WriteShard")
    assert len(written) == 4, "as many slots as the cluster has"
    assert sum(count > 0 for count in written) >= 3, written
    assert cluster.failures(job) == []
    assert f"records read {records:,}" in text
    assert f"records written {records:,}" in text
    assert "shards written 32" in text
    num_bytes = sum(shard.num_bytes for split in here.splits.values() for shard in split)
    assert f"bytes written {num_bytes:,}" in text
    shutil.rmtree(tmp_path / "there")

"""Boxes in fractions that a layout reads as pixels stop the build, and the option reads them."""

import json

import numpy as np
import pytest

import beam_pipeline
import trainer
from beam_pipeline.errors import DataError

VOC = """<annotation><filename>a.jpg</filename><object><name>cat</name><bndbox>
<xmin>0.25</xmin><ymin>0.5</ymin><xmax>0.75</xmax><ymax>1</ymax></bndbox></object></annotation>"""
OBJECTS = {"bbox": [[0.25, 0.5, 0.5, 0.5]], "category": ["cat"]}
COCO = {
    "images": [{"id": 1, "file_name": "a.jpg", "width": 40, "height": 20}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": OBJECTS["bbox"][0], "area": 200}
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "box_format"),
    [
        pytest.param("a.xml", VOC, "rel_xyxy", id="voc"),
        pytest.param("coco.json", json.dumps(COCO), "rel_xywh", id="coco"),
        pytest.param(
            "m.csv",
            "image,xmin,ymin,xmax,ymax,label\na.jpg,0.25,0.5,0.75,1,cat\n",
            "rel_xyxy",
            id="a box a row",
        ),
        pytest.param(
            "metadata.jsonl",
            json.dumps({"file_name": "a.jpg", "objects": OBJECTS}) + "\n",
            "rel_xywh",
            id="Hugging Face",
        ),
    ],
)
def test_fractions(tmp_path, write_image, file, text, box_format):
    write_image(tmp_path / "in/a.jpg", size=(40, 20))
    (tmp_path / "in" / file).write_text(text)
    options = {"input": str(tmp_path / "in"), "output": str(tmp_path / "out"), "name": "made"}

    problem = beam_pipeline.plan(beam_pipeline.BuildConfig(**options)).plan.problem
    assert isinstance(problem, DataError)
    assert "boxes in fractions" in str(problem)
    assert f"--box-format {box_format}" in str(problem)

    info = beam_pipeline.build(beam_pipeline.BuildConfig(box_format=box_format, **options))
    (record,) = trainer.open(info.path).numpy("train")
    np.testing.assert_allclose(record["boxes"], [[0.25, 0.5, 0.75, 1]])

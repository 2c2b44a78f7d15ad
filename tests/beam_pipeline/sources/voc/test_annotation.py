"""One annotation of Pascal VOC: its boxes, their attributes, and what cannot be read."""

import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Objects
from beam_pipeline.sources.voc.annotation import named_image, parse_annotation


def xml(*objects: str, filename: str = "", size: str = "") -> str:
    return f"<annotation><filename>{filename}</filename>{size}{''.join(objects)}</annotation>"


def thing(name: str = "dog", box: str | None = None, more: str = "") -> str:
    corners = "<xmin>1</xmin><ymin>2</ymin><xmax>30</xmax><ymax>40</ymax>" if box is None else box
    return f"<object><name>{name}</name><bndbox>{corners}</bndbox>{more}</object>"


def test_parse_annotation():
    text = xml(
        thing(
            "dog",
            "<xmin>1.5</xmin><ymin> 2 </ymin><xmax>30</xmax><ymax>40</ymax>",
            "<pose>Left</pose><difficult>1</difficult><truncated>0</truncated>"
            "<part><name>head</name><bndbox><xmin>3</xmin><ymin>4</ymin><xmax>5</xmax>"
            "<ymax>6</ymax></bndbox></part>",
        ),
        thing(" cat ", more="<occluded>1</occluded><difficult></difficult>"),
        size="<size><width>640</width><height>480</height><depth>3</depth></size>",
    )
    boxes, notes = parse_annotation(text.encode())
    assert boxes == Objects(
        boxes=((1.5, 2.0, 30.0, 40.0), (1.0, 2.0, 30.0, 40.0)),
        format="xyxy",
        labels=("dog", "cat"),
        attributes={"difficult": (1, 0), "truncated": (0, 0), "occluded": (0, 1)},
        image_size=(640, 480),
    )
    assert notes == {"not kept: pose": 1, "not kept: part": 1}


def test_what_nobody_has_said_is_not_missed():
    text = xml(thing(more="<pose>Unspecified</pose><actions/><difficult>1</difficult>"))
    assert parse_annotation(text.encode())[1] == {}


def test_fractions_as_stated():
    assert parse_annotation(xml(thing()).encode(), "rel_xyxy")[0].format == "rel_xyxy"


@pytest.mark.parametrize(
    "size",
    [
        pytest.param("", id="absent"),
        pytest.param("<size><width>0</width><height>0</height></size>", id="zero"),
        pytest.param("<size><width>640</width></size>", id="half"),
        pytest.param("<size><width>?</width><height>480</height></size>", id="no number"),
    ],
)
def test_a_size_that_is_not_stated(size):
    assert parse_annotation(xml(size=size).encode())[0].image_size is None


def test_no_objects_are_no_boxes():
    boxes, _ = parse_annotation(xml().encode())
    assert (boxes.boxes, boxes.labels) == ((), ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("<annotation><object>", "not usable as XML", id="cut off"),
        pytest.param("", "not usable as XML", id="empty"),
        pytest.param(
            '<!DOCTYPE a [<!ENTITY b "c">]><annotation>&b;</annotation>',
            "not usable as XML",
            id="entities",
        ),
        pytest.param("<html/>", "the root element is <html>", id="another root"),
        pytest.param(xml(thing(), thing("")), "object 2 has no <name>", id="no name"),
        pytest.param(
            xml("<object><name>dog</name></object>"),
            r"object 1 \(dog\) has no <bndbox>",
            id="no box",
        ),
        pytest.param(
            xml(thing(box="<xmin>1</xmin><ymin>2</ymin><xmax>3</xmax>")),
            "<ymax> is missing",
            id="three sides",
        ),
        pytest.param(
            xml(thing(box="<xmin>a</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax>")),
            "<xmin> is 'a', not a number",
            id="a word",
        ),
        pytest.param(
            xml(thing(box="<xmin>nan</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax>")),
            "<xmin> is 'nan'",
            id="not finite",
        ),
        pytest.param(
            xml(thing(more="<difficult>very</difficult>")), "<difficult> is 'very'", id="attribute"
        ),
    ],
)
def test_malformed_annotations(text, message):
    with pytest.raises(RecordError, match=message) as caught:
        parse_annotation(text.encode())
    assert caught.value.reason == "malformed annotation"


@pytest.mark.parametrize(
    ("stated", "expected"),
    [("a.jpg", "a.jpg"), (" C:\\images\\a.jpg ", "a.jpg"), ("x/a.jpg", "a.jpg"), ("", "")],
)
def test_named_image(stated, expected):
    assert named_image(xml(filename=stated).encode()) == expected

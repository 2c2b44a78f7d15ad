"""Whose a file of annotations is, by how it begins."""

import pytest

from beam_pipeline.sources.annotation_formats import described


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ('[{"data_row": {"id": 1}}]', "Labelbox"),
        ('{"imgHeight": 1024, "objects": []}', "Cityscapes"),
    ],
)
def test_a_known_format(make_tree, text, whose):
    root = make_tree({"a.json": text, "project.json": '{"title": "x"}'})
    assert described(root, ["project.json", "a.json"]).startswith(f"a.json is of {whose}: ")


@pytest.mark.parametrize(
    ("name", "text", "members"),
    [
        ("a.json", '{"label": "cat", "age": 3, "label": 1}', "label, age"),
        ("a.xml", '<?xml version="1.0"?><photo><label>cat</label></photo>', "photo, label"),
    ],
)
def test_another(make_tree, name, text, members):
    assert described(make_tree({name: text}), [name]).startswith(f"{name} holds {members}: ")


def test_nothing_to_look_into(make_tree):
    root = make_tree({"a.csv": "a,b", "a.json": "[1, 2]"})
    assert described(root, ["a.csv", "a.json", "not-there.json"]) == ""

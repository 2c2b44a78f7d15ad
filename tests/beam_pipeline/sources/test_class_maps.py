import json

import pytest

from beam_pipeline.sources.manifest.class_names import class_map

CATS = {"0": "cat", "10": "dog", "2": "owl"}


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        pytest.param("label_map.json", json.dumps(CATS), ["cat", "owl", "dog"], id="numbers"),
        pytest.param("classes.csv", "x,ant\n0,cat\n", ["ant", "cat"], id="codes in their order"),
        pytest.param("synsets.txt", "0 cat, tabby\n\n1 dog\n", ["cat, tabby", "dog"], id="lines"),
        pytest.param("notes.json", json.dumps(CATS), None, id="another name"),
        pytest.param("classes.yaml", "0: cat", None, id="another suffix"),
        pytest.param("classes.json", json.dumps({"0": {"name": "cat"}}), None, id="objects"),
        pytest.param("classes.json", json.dumps({"0": "a", "1": "a"}), None, id="a name twice"),
        pytest.param("classes.json", json.dumps({"1": "dog"}), None, id="not all labels"),
        pytest.param("classes.json", "[" * 100_000, None, id="deep"),
        pytest.param("classes.json", "{", None, id="cut short"),
        pytest.param("classes.csv", "0,cat,x\n", None, id="three columns"),
        pytest.param("classes.csv", '0,"cat', None, id="an open quote"),
        pytest.param("classes.txt", "0\n1\n", None, id="no names"),
        pytest.param("classes.txt", "\udc80", None, id="not UTF-8"),
        pytest.param("classes.txt", "", None, id="empty"),
        pytest.param("classes.csv", "0,cat\n" + "1,x\n" * 300_000, None, id="large"),
    ],
)
def test_names_of_classes(tmp_path, name, text, names):
    path = tmp_path / name
    path.write_bytes(text.encode(errors="surrogateescape"))
    found = class_map([str(path)], ["0"])
    assert (found and list(found.names.values())) == names


def test_labels_are_needed(tmp_path):
    (tmp_path / "classes.json").write_text(json.dumps(CATS))
    assert class_map([str(tmp_path / "classes.json")], []) is None

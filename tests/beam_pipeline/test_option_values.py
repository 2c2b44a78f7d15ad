"""Values from the command line, and the messages for invalid ones."""

import pytest

from beam_pipeline import option_values


def test_classes_from_a_file(tmp_path):
    path = tmp_path / "classes.txt"
    path.write_text("red cell\n\nweiße Zelle\n", encoding="utf-8")
    assert option_values.parse_classes(str(path)) == ("red cell", "weiße Zelle")
    path.write_text("red cell", encoding="utf-8-sig")
    assert option_values.parse_classes(str(path)) == ("red cell",)
    path.write_bytes(b"wei\xdfe Zelle")
    with pytest.raises(ValueError, match="is not UTF-8"):
        option_values.parse_classes(str(path))

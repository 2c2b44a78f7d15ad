"""Tables of files that no layout reads; that those which messages name are read is in cases."""

import pytest

from beam_pipeline.cli import commands
from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.as_tables import rows_of


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "[1]", "is of no form of which a table is made"),
        ("output.manifest", '{"source-ref": 1}', "is not as other files of its form are"),
        ("import.jsonl", '{"boundingBoxAnnotations": []}', "KeyError..imageGcsUri"),
        ("gt_1.txt", "1,2,3,4,5,6,7,8,a", "KeyError"),
    ],
)
def test_a_file_of_which_no_table_is_made(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)

    with pytest.raises(ConfigError, match=message):
        list(rows_of(str(tmp_path), [str(tmp_path / name)])[0])


def test_names_are_found_where_the_files_lie(tmp_path, capsys):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a.jpg").touch()
    (tmp_path / "labels.json").write_text('{"a.jpg": "cat", "b.jpg": "dog"}')

    assert commands.main(["table", str(tmp_path), str(tmp_path / "labels.json")]) == 0
    lines = ['{"image": "x/a.jpg", "label": "cat"}', '{"image": "b.jpg", "label": "dog"}']
    assert capsys.readouterr().out.splitlines() == lines

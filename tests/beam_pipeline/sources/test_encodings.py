"""The commands that make UTF-8 of texts are run as they are printed."""

import re
import subprocess

import pytest

from beam_pipeline.sources.manifest.lines import as_utf8

_COMMAND = re.compile("by (iconv .*?)(?:, where .*)?$")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        pytest.param("latin-1", "un café à £2\n", id="latin-1"),
        pytest.param("cp1252", "It’s 5 € – “now”\n", id="cp1252"),
        pytest.param("gbk", "标签,价格\n", id="gbk"),
        pytest.param("cp1251", "кот, пёс\n", id="cp1251"),
    ],
)
def test_the_command_makes_utf_8(tmp_path, encoding, text):
    path = tmp_path / "two words.csv"
    path.write_bytes(text.encode(encoding))
    said = as_utf8(str(path), path.read_bytes())
    assert ("-f CP1252" in said) == (encoding in ("latin-1", "cp1252"))
    command = _COMMAND.search(said)[1].replace("ENCODING", encoding)
    subprocess.run(command, shell=True, check=True)
    assert path.read_text("utf-8") == text
    assert [each.name for each in tmp_path.iterdir()] == ["two words.csv"]


@pytest.mark.parametrize("name", ["rows.csv.gz", "rows.zip/rows.csv"])
def test_no_command_is_named_for_what_it_cannot_mend(tmp_path, name):
    (tmp_path / "rows.csv.gz").touch()
    assert as_utf8(str(tmp_path / name), b"\xe9") == "save it as UTF-8"

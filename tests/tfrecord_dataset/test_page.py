"""A page's template is compiled once, where Python keeps what it compiles."""

import sys

import jinja2
import pytest

from tfrecord_dataset import page


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """The names of templates that were compiled, of pages below a folder of their own."""
    (tmp_path / "__pycache__").mkdir()
    monkeypatch.setattr(page, "__file__", str(tmp_path / "__init__.py"))
    names = []
    compile_template = jinja2.Environment.compile

    def counted(self, source, name=None, *arguments, **options):
        names.append(name)
        return compile_template(self, source, name, *arguments, **options)

    monkeypatch.setattr(jinja2.Environment, "compile", counted)
    yield names
    page._template.cache_clear()


def rendered_anew(folder):
    page._template.cache_clear()
    return page.rendered(folder, "a.html.j2", {"number": 7})


def test_it_is_kept_until_it_changes(tmp_path, compiled, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    template = tmp_path / "a.html.j2"
    template.write_text("a {{ number }}")
    assert [rendered_anew(tmp_path), rendered_anew(tmp_path)] == ["a 7", "a 7"]
    assert compiled == ["a.html.j2"]
    template.write_text("b {{ number }}")
    assert rendered_anew(tmp_path) == "b 7"
    assert compiled == ["a.html.j2"] * 2


def test_nothing_is_written_where_python_writes_nothing(tmp_path, compiled, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "a.html.j2").write_text("a {{ number }}")
    assert rendered_anew(tmp_path) == "a 7"
    assert not list((tmp_path / "__pycache__").iterdir())

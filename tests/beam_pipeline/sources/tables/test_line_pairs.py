"""Texts and labels on the same lines of two files."""

import pytest

from beam_pipeline.errors import DataError
from beam_pipeline.sources.tables.line_pairs import ReadLinePairs, classes_in, label_files_of


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("text.txt labels.txt", {"text.txt": "labels.txt"}),
        ("train_text.txt train_labels.txt test_text.txt", {"train_text.txt": "train_labels.txt"}),
        ("a/Sentences.txt a/Classes.txt", {"a/Sentences.txt": "a/Classes.txt"}),
        ("a/text.txt b/labels.txt", {}),
        ("text_a.txt labels_b.txt", {}),
        ("text.txt texts.txt labels.txt", {}),
        ("context.txt conlabels.txt", {}),
    ],
)
def test_names_that_differ_in_one_word(names, expected):
    assert label_files_of(names.split()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1\tdog\n0\tcat\n", {"0": "cat", "1": "dog"}),
        ("0 big cat\n\n1 dog\n", {"0": "big cat", "1": "dog"}),
        ("0\tcat\n1\tcat\n", {}),
        ("cat\ndog\n", {}),
    ],
)
def test_names_of_classes(write, text, expected):
    assert classes_in(write("mapping.txt", text)) == expected


def test_lines_without_a_label_of_their_own(write, read_tables):
    root = write("text.txt", "one\ntwo\n").rpartition("/")[0]
    write("labels.txt", "1\n")
    with pytest.raises(DataError, match=r"labels\.txt have different numbers of lines"):
        read_tables(ReadLinePairs(root, names=("text.txt", "labels.txt")))


def test_bytes_that_are_not_utf_8_are_rejected_with_their_line(write, read_tables):
    root = write("text.txt", b"one\n\xff\nthree\n").rpartition("/")[0]
    write("labels.txt", "a\nb\na\n")
    found = read_tables(ReadLinePairs(root, names=("text.txt", "labels.txt")))
    assert [getattr(each, "key", "") or each.source for each in found] == [
        "text.txt:2",
        "text.txt:1",
        "text.txt:3",
    ]

"""A model predicts for the raw file that its dataset was built of, read as the build read it."""

import json
import re

import pytest
from tiers import first_in_ci

from beam_pipeline import build
from trainer.commands import main

pytestmark = pytest.mark.slow


def rows_of(form):
    return "".join(
        form.format(n=n, half=n / 2, truth=n % 3 == 0, label="cat" if n % 2 else "dog")
        for n in range(40)
    )


CASES = [
    pytest.param(
        *(
            "a.csv",
            "n,whole,label\n"
            + rows_of("{n},{n},{label}\n").replace(",7,", ",,").replace(",9,", ",NA,"),
        ),
        *({}, "label"),
        id="gaps",
    ),
    pytest.param(
        *(
            "a.csv",
            "# a note\u2028\nn,note,label\n" + rows_of('{n},"a, ""b""\r{truth}",{label}\n'),
            {},
            "label",
        ),
        id="quotes",
    ),
    pytest.param(
        "a.csv", rows_of("{n},{half},{label}\n"), {"no_header": True}, "column_3", id="no header"
    ),
    pytest.param(
        "a.csv", "n,truth,label\n" + rows_of("{n},{truth},{label}\n"), {}, "label", id="truths"
    ),
    pytest.param(
        *("a.csv", "n;half;label\n" + rows_of("{n};{half};{label}\n").replace(".", ",")),
        *({"decimal_comma": True}, "label"),
        id="decimal commas",
    ),
    pytest.param(
        "a.tsv", "n\thalf\tlabel\n" + rows_of("{n}\t{half}\t{label}\n"), {}, "label", id="tabs"
    ),
    pytest.param(
        *(
            "a.jsonl",
            "".join(
                json.dumps({"n": n, "truth": n % 3 == 0, "label": f"l{n % 2}"}) + "\n"
                for n in range(40)
            ),
        ),
        *({}, "label"),
        id="JSON truths",
    ),
    pytest.param(
        *(
            "a.csv",
            "n,whole,label\n"
            + rows_of("{n},{n},{label}\n").replace(",7,", ",,").replace(",9,", ",none given,"),
        ),
        *({"missing_numbers": 0, "missing_values": ["none given"]}, "label"),
        id="filled gaps",
    ),
    pytest.param(
        *("a.csv", ("größe,label\n" + rows_of("{n},{label}\n")).encode("cp1252")),
        *({"encoding": "cp1252"}, "label"),
        id="encoding",
    ),
]


@pytest.fixture
def learned(tmp_path):
    """learned(raw file, target, options of train, options of build) -> (dataset, run)."""

    def learn(raw, target="label", more=("--epochs", "1"), **options):
        data, run = tmp_path / "data", tmp_path / "run"
        build(input=str(raw), output=str(data), threads=1, **options)
        [dataset] = data.glob("*/1.0.0")
        where = ["--data", str(dataset), "--output", str(run), "--target", target]
        assert main(["train", *where, *more, "--seed", "0", "--quiet"]) == 0
        return dataset, run

    return learn


def check_alike(raw, dataset, run, capsys):
    """Check that the predictions for a raw file are those for its dataset."""
    predicted = []
    capsys.readouterr()
    for path, split in ((raw, []), (dataset, ["--split", "train"])):
        assert main(["predict", str(path), *split, "--run", str(run), "--quiet"]) == 0
        rows = map(json.loads, capsys.readouterr().out.splitlines())
        predicted.append(sorted(round(row["probability"], 4) for row in rows))
    assert len(predicted[0]) == 40
    assert predicted[0] == predicted[1]


@pytest.mark.parametrize(("name", "text", "options", "target"), first_in_ci(CASES, 2))
def test_a_model_predicts_for_the_file_of_its_dataset(
    tmp_path, capsys, learned, name, text, options, target
):
    raw = tmp_path / name
    raw.write_bytes(text if isinstance(text, bytes) else text.encode())
    check_alike(raw, *learned(raw, target, **options), capsys)


def test_a_key_that_some_rows_lack_is_a_gap_as_in_the_build(tmp_path, capsys, learned):
    raw = tmp_path / "a.jsonl"
    rows = [{"n": n, "word": "abc"[n % 3], "label": f"l{n % 2}"} for n in range(40)]
    del rows[0]["n"], rows[1]["word"]
    raw.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    dataset, run = learned(raw)
    check_alike(raw, dataset, run, capsys)

    raw.write_text('{"word": "a"}\n{"word": "b"}\n')
    assert main(["predict", str(raw), "--run", str(run)]) == 2
    assert "'n'" in capsys.readouterr().err


def test_rows_that_cannot_be_read_are_lines(tmp_path, capsys, learned):
    raw = tmp_path / "a.csv"
    raw.write_text("n,label\n" + rows_of("{n},{label}\n"))
    _, run = learned(raw, more=["--epochs", "2", "--schedule", "cosine"])
    page = (run / "report.html").read_text()
    mistakes = re.findall(r'<th scope="row">a.csv:(\d+)</th><td>.*?</td><td title="(\S+)">', page)
    lines = raw.read_text().splitlines()
    assert mistakes
    assert all(float(lines[int(line) - 1].split(",")[0]) == float(n) for line, n in mistakes)
    assert "<figcaption>learning rate</figcaption>" in page

    for name, text, lines, error in (
        ("b.csv", "n,label\n1,cat\n\nx,dog\n3,cat,4\n5,dog\n", [2, 4, 5, 6], "b.csv:5: "),
        ("b.jsonl", '{"n": 1}\n{"n": "x"}\n{"n": 3\n{"n": 5}\n', [1, 2, 3, 4], "b.jsonl:3 "),
    ):
        (tmp_path / name).write_text(text)
        capsys.readouterr()
        assert main(["predict", str(tmp_path / name), "--run", str(run)]) == 0
        shown = capsys.readouterr()
        rows = [json.loads(line) for line in shown.out.splitlines()]
        assert ["error" in row for row in rows] == [False, True, True, False]
        assert [row["source"] for row in rows] == [f"{tmp_path / name}:{line}" for line in lines]
        assert rows[1]["error"].endswith(
            f"{name}:{lines[1]} is 'x', which is not of int64: not a number; correct the value"
        )
        assert error in rows[2]["error"]
        assert "2 of 4 records cannot be read; first: " in shown.err

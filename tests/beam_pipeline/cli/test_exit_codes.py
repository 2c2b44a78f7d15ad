"""Exit codes of each command, as docs/data-checks.md has them."""

import shutil

import pytest

from beam_pipeline.cli import commands


@pytest.fixture(scope="module")
def places(tmp_path_factory, class_folders):
    """Inputs and datasets by name, each fit for one of the codes."""
    root = tmp_path_factory.mktemp("codes")
    good = class_folders(root / "good", each=2)
    bad = class_folders(root / "bad", each=2)
    (bad / "cat/cut.jpg").write_bytes(b"no image")
    (root / "file").touch()
    (root / "link").symlink_to(root / "nowhere")
    assert (
        commands.main(["build", str(good), "--output", str(root / "data"), "--threads", "1"]) == 0
    )
    dataset = root / "data/good/1.0.0"
    other = shutil.copytree(dataset, root / "other/1.0.0")
    for name, cut in (("damaged", 20), ("bare", 0), ("cut", 20)):
        copy = shutil.copytree(dataset, root / name / "1.0.0")
        [shard] = copy.glob("*.tfrecord-*")
        shard.write_bytes(shard.read_bytes()[: -cut or None])
        if name != "damaged":
            for path in copy.iterdir():
                shutil.rmtree(path) if path.is_dir() else path == shard or path.unlink()
    assert (
        commands.main(["build", str(good), "--output", str(root / "changed"), "--seed", "1"]) == 0
    )
    return {path.name: str(path) for path in root.iterdir()} | {"root": str(root), "other": other}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("build {good} --output {root}/new", 0, ""),
        ("build {good} --output /proc/new", 1, "error: No such file or directory: /proc/new"),
        ("build {good} --output {link}", 2, "nowhere, which is missing; give a folder"),
        ("build {good} --output {file}", 2, "/file is a file; give a folder"),
        ("build {root}/none --output {root}/new2", 2, "none"),
        ("build {bad} --output {root}/new3", 3, "1 of 5"),
        ("plan {good}", 0, ""),
        ("plan {good} --save /proc/recipe.yaml", 1, "error: No such file or directory: /proc"),
        ("plan {root}/none", 2, "none"),
        ("plan {bad}", 3, "1 of 5"),
        ("adopt {bare}/1.0.0", 0, ""),
        ("adopt {root}/none", 2, "none"),
        ("adopt {cut}/1.0.0", 3, ""),
        ("verify {other}", 0, ""),
        ("verify {root}/none", 2, "none"),
        ("verify {damaged}", 3, "does not verify"),
        ("show {other} --limit 1", 0, ""),
        ("show {other} --split none", 2, "none"),
        ("show {damaged} --limit 100", 3, ""),
        ("diff {other} {other}", 0, ""),
        ("diff {other} {changed}/good", 1, ""),
        ("diff {other} {root}/none", 2, "none"),
        ("diff {other} {damaged}/1.0.0/index", 2, "not a finished dataset"),
        ("report {other}", 0, ""),
        ("report {other} --output /proc/report", 1, "error: No such file or directory: /proc"),
        ("report {other} --output {link}", 2, "nowhere, which is missing; give a folder"),
        ("report {root}/none", 2, "none"),
        ("report {damaged}", 3, ""),
        ("doctor", 0, ""),
        ("doctor {root}/none", 1, "problem"),
        ("doctor --none", 2, "none"),
    ],
)
def test_exit_code(places, capsys, words, code, message):
    arguments = [word.format(**places) for word in words.split()]
    if arguments[0] in ("build", "plan"):
        arguments += ["--threads", "1"]
    try:
        found = commands.main(arguments)
    except SystemExit as end:  # argparse
        found = end.code
    shown = capsys.readouterr()
    assert found == code, shown
    assert message in shown.err
    assert ("error: " in shown.err) == (code > 0 and not words.startswith("diff {other} {changed}"))
    assert "shards that are missing" not in shown.err  # none was written

"""The golden dataset's build; as a program, makes it again after a change of the format.

.venv/bin/python tests/testdata/make_golden.py
"""

import json
import shutil
import tempfile
from pathlib import Path

import beam_pipeline
from tfrecord_dataset.json_file import sealed

TESTDATA = Path(__file__).parent
GOLDEN = TESTDATA / "golden/1.0.0"


def build(output: Path) -> Path:
    """Builds `golden_input`; returns the dataset's directory."""
    config = beam_pipeline.BuildConfig(
        input=str(TESTDATA / "golden_input"),
        output=str(output),
        name="golden",
        num_shards={"train": 2, "test": 1},
        no_report=True,
    )
    return Path(beam_pipeline.build(config).path)


def main() -> None:
    """Replaces the golden dataset; its build.json tells of no machine, time or version."""
    with tempfile.TemporaryDirectory() as folder:
        built = build(Path(folder))
        provenance = json.loads((built / "build.json").read_text())
        neutral = dict.fromkeys(provenance, "")
        neutral |= {"input": "golden_input", "metadata_sha256": provenance["metadata_sha256"]}
        (built / "build.json").write_text(sealed(neutral))
        shutil.rmtree(GOLDEN, ignore_errors=True)
        shutil.copytree(built, GOLDEN)


if __name__ == "__main__":
    main()

"""The Flex Template of Dataflow: its parameters are the options of build, and are validated."""

import argparse
import importlib.util
import json
import re
from pathlib import Path

import pytest

from beam_pipeline.cli.beam_arguments import Parser
from beam_pipeline.cli.options import add_command_options

TEMPLATE = Path(__file__).parents[3] / "docker" / "dataflow"
METADATA = json.loads((TEMPLATE / "metadata.json").read_text())
PARAMETERS = {parameter["name"]: parameter for parameter in METADATA["parameters"]}

# Values that build takes, and values that it refuses or Dataflow's workers cannot use.
EXAMPLES = {
    "input": (["gs://bucket/pets", "s3://b/a b/*.csv"], ["pets", "/data/pets", ""]),
    "output": (["gs://bucket/data"], ["data", "gs://bucket/*", "https://host/data"]),
    "layout": (["auto", "tfrecord"], ["lmdb", "Auto"]),
    "image_root": (["gs://bucket/images"], ["images"]),
    "allow_outside": (["gs://other", "gs://a/b,https://host/c"], ["images"]),
    "image_column": (["image path"], ["a,b", ""]),
    "encoding": (["cp1252"], [""]),
    "label_column": (["color", "color,shape"], ["", ",color"]),
    "split_column": (["split"], ["a,b"]),
    "no_header": (["true", "false"], ["1"]),
    "table": (["Sheet 1", "rows"], ["", "a\nb"]),
    "ignore_columns": (["id", "id,x"], ["id,"]),
    "split_list": (["gs://bucket/val.txt", "val=gs://b/1.txt"], ["val.txt", ""]),
    "ignore": (["*_mask.png", "a, b.csv"], [""]),
    "one_class": (["true", "false"], ["1"]),
    "allow_missing_shards": (["true", "false"], ["1"]),
    "masks": (["true", "false"], ["1"]),
    "schema": (["gs://bucket/schema.yaml", "gs://b/s.json"], ["schema.json", "gs://b/s.txt"]),
    "classes": (["cat,dog", "cat"], ["cat,,dog", ""]),
    "path_pattern": (["{label}_{speaker}"], ["label"]),
    "max_bad_fraction": (["0", "1", "0.01", ".5", "1.0", "0.0"], ["2", "1.5", "-0.1", "1%"]),
    "duplicates": (["keep", "drop", "error"], ["remove"]),
    "near_duplicates": (["report", "group"], ["drop"]),
    "leaks": (["error", "warn"], ["keep"]),
    "image_max_side": (["640"], ["0", "640x480"]),
    "image_size": (["224", "640x480"], ["x480", "0x0", "640X480"]),
    "image_format": (["keep", "jpeg", "bmp"], ["jpg"]),
    "jpeg_quality": (["1", "95", "100"], ["0", "101", "best"]),
    "audio_sample_rate": (["16000"], ["16k", "0"]),
    "audio_mono": (["true", "false"], ["yes", ""]),
    "split": (["train=1", "train=0.8,test=0.2"], ["0.8,0.2", "train:1"]),
    "no_stratify": (["true", "false"], ["1"]),
    "group_by": (["patient", "1"], [""]),
    "seed": (["0", "-7"], ["x", "1.5"]),
    "num_shards": (["8", "train=8,test=1"], ["0", "train=0", "123456"]),
    "target_shard_bytes": (["128MiB", "1.5GB", "4096", "1 GiB"], ["big", "1 PB", "-1"]),
    "compression": (["none", "gzip"], ["zstd"]),
    "name": (["pets_2"], ["Pets", "2pets"]),
    "version": (["1.0.0"], ["1.0", "v1.0.0"]),
    "overwrite": (["true", "false"], ["True"]),
    "no_report": (["true", "false"], ["True"]),
    "threads": (["0", "8"], ["-1"]),
}


@pytest.fixture(scope="module")
def launch():
    spec = importlib.util.spec_from_file_location("launch", TEMPLATE / "launch.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def parser():
    parser = Parser(add_help=False)
    add_command_options(parser, "build")
    return parser


def test_parameters_are_the_options_of_build(parser):
    flags = {f"--{name.replace('_', '-')}": each for name, each in PARAMETERS.items()}
    options = parser._option_string_actions
    assert flags.keys() == options.keys() - {"--debug", "--labels"}
    needed = {name for name, each in PARAMETERS.items() if not each.get("isOptional")}
    assert needed == {"input", "output"}
    for flag, each in flags.items():
        if choices := [choice for choice in options[flag].choices or () if choice]:
            assert each["regexes"] == [f"^({'|'.join(choices)})$"]


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_is_described_and_validated(name, parser, launch, monkeypatch):
    parameter = PARAMETERS[name]
    accepted, refused = EXAMPLES[name]

    assert set(parameter) - {"isOptional"} == {"name", "label", "helpText", "regexes"}
    assert re.fullmatch(r"[A-Z].*\.", parameter["helpText"])
    for value in accepted:
        assert all(re.search(regex, value) for regex in parameter["regexes"]), value
        given = {"input": "gs://bucket/in", "output": "gs://bucket/out", name: value}
        arguments = launch.build_arguments([f"--{key}={value}" for key, value in given.items()], "")
        assert arguments[0] == "build"
        if name in ("schema", "split_list", "tokenizer"):
            continue  # the file would be read
        assert isinstance(parser.parse_args(arguments[1:]), argparse.Namespace)
    for value in refused:
        assert not all(re.search(regex, value) for regex in parameter["regexes"]), value


def test_the_launchers_arguments_become_those_of_build(launch):
    beams = [
        *("--runner=DataflowRunner", "--project=my-project", "--region=us-central1"),
        *("--temp_location=gs://b/temp", "--template_location=gs://b/job_object"),
    ]
    own = [
        *("--input=gs://b/pets", "--output=gs://b/data", "--max_bad_fraction=0.1"),
        *("--overwrite=true", "--audio_mono=false", "--schema="),
    ]

    assert launch.build_arguments([*beams, *own], "registry/image:1") == [
        *("build", "gs://b/pets", *beams, "--output=gs://b/data"),
        *("--max-bad-fraction=0.1", "--overwrite", "--sdk_container_image=registry/image:1"),
    ]
    with pytest.raises(SystemExit, match="overwrite=1 cannot be used: give true or false"):
        launch.build_arguments(["--overwrite=1"], "")

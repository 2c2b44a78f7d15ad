"""A TensorFlow Datasets builder, as in https://www.tensorflow.org/datasets/add_dataset.

python benchmarks/peers/tfds_builder.py FOLDER OUTPUT [--beam]
"""

import sys
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds


class Photographs(tfds.core.GeneratorBasedBuilder):
    """Class folders as a dataset."""

    VERSION = tfds.core.Version("1.0.0")
    folder: Path
    beam = False

    def _info(self) -> tfds.core.DatasetInfo:
        names = sorted(path.name for path in self.folder.iterdir())
        features = {
            "image": tfds.features.Image(),
            "label": tfds.features.ClassLabel(names=names),
        }
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager: Any) -> Any:
        return {"train": self._generate_examples(self.folder)}

    def _generate_examples(self, folder: Path) -> Any:
        files = sorted(folder.rglob("*.jpg"))
        if not self.beam:
            return map(_example, files)
        return tfds.core.lazy_imports.apache_beam.Create(files) | _beam_map(_example)


def _example(path: Path) -> tuple[str, Any]:
    return str(path), {"image": str(path), "label": path.parent.name}


def _beam_map(function: Any) -> Any:
    return tfds.core.lazy_imports.apache_beam.Map(function)


def main() -> None:
    Photographs.folder = Path(sys.argv[1])
    Photographs.beam = "--beam" in sys.argv
    Photographs(data_dir=sys.argv[2]).download_and_prepare()


if __name__ == "__main__":
    main()

"""The layout `karpathy`: captions and a split an image, as Karpathy's lists of COCO and Flickr are.

Source of the format: https://cs.stanford.edu/people/karpathy/deepimagesent/ (dataset_coco.json,
dataset_flickr8k.json, dataset_flickr30k.json).
"""

import re
from collections.abc import Iterator

from beam_pipeline.sources.image_folders import AnnotationFile
from beam_pipeline.sources.image_items import Fault, Item, ItemFiles, item_or_fault, layout_of
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.nesting import items
from beam_pipeline.sources.paths import joined

SENTENCES = re.compile(rb'"sentids"\s*:\s*\[|"sentences"\s*:\s*\[\s*\{\s*"(tokens|raw)"\s*:')


class KarpathyFiles(ItemFiles):
    """An object with a list of images, each with its sentences."""

    suffix = "json"
    sign = SENTENCES
    places = ("images", "Images", "Flicker8k_Dataset", "flickr30k-images", "data")

    def items(self, file: AnnotationFile) -> Iterator[Item | Fault]:
        for place, image in enumerate(items(file.path, "images"), start=1):
            yield item_or_fault(_item, f"image {place}", image)


def _item(where: str, image: object) -> Item:
    stated = image if isinstance(image, dict) else {}
    home, name, split = stated.get("filepath", ""), stated.get("filename"), stated.get("split")
    sentences = stated.get("sentences")
    has_names = isinstance(name, str) and isinstance(home, str) and isinstance(split, str)
    if not (has_names and name and split and isinstance(sentences, list)):
        raise malformed(f"needs a filename, a split and sentences, has {image!r:.80}")
    captions = [each.get("raw") if isinstance(each, dict) else None for each in sentences]
    texts = tuple(each for each in captions if isinstance(each, str) and each.strip())
    left = ["sentence without text"] * (len(captions) - len(texts))
    return Item(joined(home, str(name)), where, {"captions": texts}, not_kept(left), split=split)


_SIGN = "Karpathy's .json of captions and splits next to the images"
LAYOUT = layout_of("karpathy", _SIGN, KarpathyFiles())

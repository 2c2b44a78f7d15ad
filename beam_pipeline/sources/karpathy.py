"""The layout `karpathy`: captions and a split per image, as in Karpathy's COCO and Flickr.

Source of the format: https://cs.stanford.edu/people/karpathy/deepimagesent/ (dataset_coco.json,
dataset_flickr8k.json, dataset_flickr30k.json).
"""

from typing import Any

from beam_pipeline.sources.annotations.coco.coco_files import SENTENCES
from beam_pipeline.sources.annotations.item_files import Item, ItemFiles, layout_of
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.paths import joined


class KarpathyFiles(ItemFiles):
    """An object with a list of images and their sentences."""

    suffix = "json"
    sign = SENTENCES
    places = ("images", "Images", "Flicker8k_Dataset", "flickr30k-images", "data")
    list_name = "images"

    def item(self, stated: Any) -> Item:
        image = stated if isinstance(stated, dict) else {}
        home, name, split = image.get("filepath", ""), image.get("filename"), image.get("split")
        sentences = image.get("sentences")
        has_names = isinstance(name, str) and isinstance(home, str) and isinstance(split, str)
        if not (has_names and name and split and isinstance(sentences, list)):
            raise malformed(f"needs a filename, a split and sentences, has {stated!r:.80}")
        captions = [
            sentence.get("raw") if isinstance(sentence, dict) else None for sentence in sentences
        ]
        texts = tuple(
            caption for caption in captions if isinstance(caption, str) and caption.strip()
        )
        left = ["sentence without text"] * (len(captions) - len(texts))
        return Item(joined(home, name), {"captions": texts}, not_kept(left), split=split)


_SIGN = "Karpathy's .json of captions and splits next to the images"
LAYOUT = layout_of("karpathy", _SIGN, KarpathyFiles())

"""A text a file in class folders, as aclImdb has them, becomes texts with their classes."""

import beam_pipeline
import trainer


def test_reviews_in_class_folders(tmp_path):
    root = tmp_path / "reviews"
    texts = {}
    for split in ("train", "test"):
        for number in range(6):
            for label in ("neg", "pos"):
                text = f"A {label} film,\n{split} {number}: häßlich. " * (1 + 400 * number)
                path = root / split / label / f"{number}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
                texts[text.encode()] = (split, label)
    (root / "train/unsup").mkdir()
    (root / "train/unsup/0.txt").write_text("A film.")
    config = beam_pipeline.BuildConfig(input=str(root), output=str(tmp_path / "data"))
    info = beam_pipeline.build(config)
    assert beam_pipeline.verify(info) == []
    assert info.classes == ("neg", "pos")
    seen = {}
    dataset = trainer.open(info.path)
    for split in ("train", "test"):
        for record in dataset.numpy(split):
            seen[record["text"]] = (split, info.classes[record["label"]])
    assert seen == texts

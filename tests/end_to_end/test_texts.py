"""Texts get the tokens that a local tokenizer makes of them."""

import json

import tokenizers

import beam_pipeline
import trainer
from beam_pipeline.cli import commands

TEXTS = [
    f"{word} film: häßlich {n}" + ", really" * (n % 3)
    for n in range(12)
    for word in ("good", "bad")
]


def word_level(folder):
    """A tokenizer of the library `tokenizers`: its file, and a function text -> numbers."""
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.train_from_iterator(TEXTS, tokenizers.trainers.WordLevelTrainer(special_tokens=["?"]))
    path = folder / "words.json"
    made.save(str(path))
    return path, lambda text: made.encode(text).ids


def test_tokens_of_a_local_tokenizer(tmp_path, capsys):
    path, encode = word_level(tmp_path)
    (tmp_path / "reviews.jsonl").write_text(
        "".join(
            json.dumps({"review": text, "label": text.split()[0]}, ensure_ascii=False) + "\n"
            for text in TEXTS
        )
    )
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(f"input: reviews.jsonl\ntokenizer: {path}\n")
    assert commands.main(["build", str(recipe), "--output", str(tmp_path / "data")]) == 0
    directory = capsys.readouterr().out.strip()

    info = beam_pipeline.open(directory)
    assert beam_pipeline.verify(info) == []
    kinds = {feature.name: (feature.kind, feature.dtype) for feature in info.schema}
    assert kinds["review"] == ("text", "string")
    assert kinds["review/tokens"] == ("sequence", "int64")
    records = list(trainer.open(directory).numpy())
    assert {record["review"].decode() for record in records} == {*TEXTS}
    for record in records:
        assert record["review/tokens"].tolist() == encode(record["review"].decode())

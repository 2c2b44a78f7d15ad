"""Tokens equal those of the tokenizer's own library."""

import io
import pickle

import numpy as np
import pytest
import sentencepiece
import tokenizers

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.inspect import tokens

TEXTS = ["hello world, this is a tiny text", "tokens are numbers", "the quick brown fox"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One tokenizer per library, by suffix, trained on three lines."""
    folder = tmp_path_factory.mktemp("tokenizers")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_writer=model, vocab_size=28, minloglevel=2
    )
    (folder / "spm.model").write_bytes(model.getvalue())
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]"))
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=60, special_tokens=["[UNK]", "[END]"], show_progress=False
    )
    bpe.train_from_iterator(TEXTS, trainer)
    bpe.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A [END]", special_tokens=[("[END]", 1)]
    )
    bpe.enable_truncation(4)
    bpe.enable_padding(length=9)
    bpe.save(str(folder / "bpe.json"))
    return {".model": str(folder / "spm.model"), ".json": str(folder / "bpe.json")}


def ids_of(text, path):
    array = tokens.tokenize(text, path)
    assert (array.dtype, array.shape) == ("int64", (len(array.data) // 8,))
    return np.frombuffer(array.data, "<i8")


def test_sentencepieces(files):
    library = sentencepiece.SentencePieceProcessor(model_file=files[".model"])
    found = ids_of("hello fox", files[".model"])
    assert found.tolist() == library.encode("hello fox")
    assert library.decode(found.tolist()) == "hello fox"


def test_tokenizers(files):
    library = tokenizers.Tokenizer.from_file(files[".json"])
    library.no_truncation()
    library.no_padding()
    text = "the quick brown fox is tiny"
    found = ids_of(text, files[".json"])
    assert found.tolist() == library.encode(text).ids
    assert found[-1] == 1
    assert len(found) > 4


PANICS = b"""{"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}"""


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("missing.model", None, "missing.model: missing file"),
        ("missing.json", None, "missing.json: missing file"),
        ("vocabulary.txt", b"a\nb\n", "give a .model file of sentencepiece or a .json file"),
        ("broken.model", b"garbage", "is invalid"),
        ("empty.model", b"", "is invalid: the file is empty"),
        ("broken.json", b'{"model": ', "is invalid: .*EOF"),
        ("other.json", b"{}", "is invalid: .*odel missing"),
        ("panics.json", PANICS, "is invalid: Precompiled"),
    ],
)
def test_what_is_not_a_tokenizer(tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError, match=message):
        tokens.load(str(tmp_path / name))


def test_a_text_on_which_the_tokenizer_panics_is_a_reject(tmp_path):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
    backtracking = tokenizers.Regex(r"(a+)+b")
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(backtracking, "isolated")
    tokenizer.save(str(tmp_path / "split.json"))
    with pytest.raises(RecordError, match="text cannot be tokenized") as raised:
        tokens.tokenize("a" * 40 + "c", str(tmp_path / "split.json"))
    assert "41 characters" in raised.value.detail
    pickle.loads(pickle.dumps(raised.value))

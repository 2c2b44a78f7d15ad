"""Baselines for the rows of quality.py: short Keras scripts and scikit-learn models.

    python benchmarks/quality_by_hand.py FUNCTION FOLDER SEED

reads FOLDER/train and FOLDER/test, and prints the metric on the test split as JSON.
"""

import json
import sys
from pathlib import Path

import keras
import numpy as np
import pandas as pd
import tensorflow as tf
from keras import layers
from PIL import Image


def table(folder, split):
    """(all columns except the target, the target)."""
    rows = pd.read_csv(folder / f"{split}.csv")
    return rows.drop(columns="target"), rows["target"]


def files(folder, split, read):
    """(results of `read` for every file, class numbers by folder)."""
    paths = sorted((folder / split).glob("*/*"))
    names = sorted({path.parent.name for path in paths})
    return np.stack([*map(read, paths)]), np.array([names.index(p.parent.name) for p in paths])


def pixels(path):
    """Pixels of an image: float32 [height, width, 3] in 0..1."""
    return np.asarray(Image.open(path).convert("RGB"), np.float32) / 255


def second(path):
    """One second of sound, float32 [8000]."""
    samples = tf.audio.decode_wav(path.read_bytes())[0][:8000, 0].numpy()
    return np.pad(samples, (0, 8000 - len(samples)))


def fit(model, loss, x, y, epochs, batch_size=32, stop=True):
    """Trains with Adam; stops early after 10 epochs without improvement on a held-out tenth."""
    order = np.random.permutation(len(y))
    model.compile("adam", loss)
    patience = keras.callbacks.EarlyStopping(patience=10, restore_best_weights=True)
    model.fit(
        x[order], y[order], batch_size=batch_size, epochs=epochs, verbose=0,
        validation_split=0.1 if stop else 0.0, callbacks=[patience] if stop else [],
    )  # fmt: skip


def classified(model, train, test, epochs):
    """Accuracy of a classifier that outputs logits."""
    fit(model, keras.losses.SparseCategoricalCrossentropy(from_logits=True), *train, epochs)
    return float((model.predict(test[0], verbose=0).argmax(axis=-1) == test[1]).mean())


def cnn(train, test, epochs):
    """Accuracy of the CNN of TensorFlow's CIFAR-10 tutorial."""
    model = keras.Sequential(
        [
            layers.Conv2D(32, 3, activation="relu", padding="same"), layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu", padding="same"), layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu", padding="same"), layers.Flatten(),
            layers.Dense(64, activation="relu"), layers.Dense(int(train[1].max()) + 1),
        ]
    )  # fmt: skip
    return classified(model, train, test, epochs)


def keras_images(folder):
    """The tutorial's CNN for 10 epochs, or 50 for small datasets."""
    train, test = files(folder, "train", pixels), files(folder, "test", pixels)
    return cnn(train, test, 10 if len(train[1]) > 5_000 else 50)


def keras_sounds(folder):
    """The tutorial's CNN on spectrograms, as in TensorFlow's tutorial on audio."""
    train, test = files(folder, "train", second), files(folder, "test", second)
    (train, test) = ((np.log(np.abs(tf.signal.stft(x, 255, 128))[:, ::2, ::2, None] + 1e-3), y)
                     for x, y in (train, test))  # fmt: skip
    return cnn(train, test, 30)


def keras_texts(folder):
    """Mean of embeddings, as in TensorFlow's text classification tutorial."""
    (x, y), (x_test, y_test) = table(folder, "train"), table(folder, "test")
    words = layers.TextVectorization(10_000, output_sequence_length=100)
    words.adapt(x["text"].to_numpy())
    model = keras.Sequential(
        [
            layers.Embedding(10_000, 16), layers.GlobalAveragePooling1D(),
            layers.Dense(16, activation="relu"), layers.Dense(2),
        ]
    )  # fmt: skip
    train, test = (
        (np.asarray(words(part["text"].to_numpy())), (target == "good").to_numpy().astype(int))
        for part, target in ((x, y), (x_test, y_test))
    )
    return classified(model, train, test, 50)


def series(folder, split):
    """(lists of numbers, numbers of their classes)."""
    rows = pd.read_json(folder / f"{split}.jsonl", lines=True)
    return rows["series"].tolist(), rows["target"].astype("category").cat.codes.to_numpy(int)


def keras_series(folder):
    """A GRU with masked padding, as in Keras's guide on masking."""
    padded = {"dtype": "float32", "padding": "post", "value": -100.0}
    train, test = (
        (keras.utils.pad_sequences(x, maxlen=40, **padded)[..., None], y)
        for x, y in (series(folder, "train"), series(folder, "test"))
    )
    model = keras.Sequential([layers.Masking(-100.0), layers.GRU(64), layers.Dense(4)])
    return classified(model, train, test, 100)


def numbers(folder):
    """((x, y) of train, (x, y) of test): one-hot texts, standardised columns."""
    (x, y), (x_test, y_test) = table(folder, "train"), table(folder, "test")
    both = pd.get_dummies(pd.concat([x, x_test])).fillna(0).to_numpy(np.float32)
    scaled = (both - both[: len(x)].mean(axis=0)) / (both[: len(x)].std(axis=0) + 1e-6)
    return (scaled[: len(x)], y.to_numpy()), (scaled[len(x) :], y_test.to_numpy())


def mlp(outputs):
    """An MLP with two hidden layers of 64 units."""
    hidden = [layers.Dense(64, activation="relu") for _ in range(2)]
    return keras.Sequential([*hidden, layers.Dense(outputs)])


def keras_classes(folder):
    """Two hidden layers."""
    train, test = numbers(folder)
    return classified(mlp(int(train[1].max()) + 1), train, test, 200)


def keras_numbers(folder):
    """Two hidden layers on a standardised target; the mean absolute error."""
    (x, y), (x_test, y_test) = numbers(folder)
    model = mlp(1)
    fit(model, "mse", x, (y - y.mean()) / y.std(), 200)
    predicted = model.predict(x_test, verbose=0)[:, 0] * y.std() + y.mean()
    return float(np.abs(predicted - y_test).mean())


def maps(folder, split):
    """(images, maps of class numbers)."""
    paths = sorted((folder / split / "images").glob("*.png"))
    masks = [np.asarray(Image.open(folder / split / "masks" / path.name)) for path in paths]
    return np.stack([*map(pixels, paths)]), np.stack(masks).astype(int)


def mean_iou(found, wanted):
    """Mean intersection over union of the classes in the maps."""
    pairs = [((found == c) & (wanted == c), (found == c) | (wanted == c)) for c in range(4)]
    return float(np.mean([both.sum() / either.sum() for both, either in pairs]))


def keras_maps(folder):
    """A small U-Net: 500 steps of 8 images, as in the trainer's plan."""
    (x, y), (x_test, y_test) = maps(folder, "train"), maps(folder, "test")
    conv = {"kernel_size": 3, "padding": "same", "activation": "relu"}
    image = z = keras.Input(x.shape[1:])
    skips = []
    for width in (16, 32, 64):
        z = layers.Conv2D(width, **conv)(layers.Conv2D(width, **conv)(z))
        skips.append(z)
        z = layers.MaxPooling2D()(z)
    z = layers.Conv2D(128, **conv)(z)
    for skip in skips[::-1]:
        z = layers.Concatenate()([layers.UpSampling2D()(z), skip])
        z = layers.Conv2D(skip.shape[-1], **conv)(z)
    model = keras.Model(image, layers.Conv2D(4, 1)(z))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    fit(model, loss, x, y, 500 * 8 // len(x), batch_size=8, stop=False)
    return mean_iou(model.predict(x_test, verbose=0).argmax(axis=-1), y_test)


def sklearn_classes(folder):
    """Logistic regression."""
    from sklearn.linear_model import LogisticRegression

    train, test = numbers(folder)
    return float(LogisticRegression(max_iter=1000).fit(*train).score(*test))


def trees(folder, model):
    """Boosted trees fitted on texts as categories: (predictions of test, its target)."""
    (x, y), (x_test, y_test) = table(folder, "train"), table(folder, "test")
    both = pd.concat([x, x_test])
    texts = both.select_dtypes(exclude="number").columns
    both = both.astype(dict.fromkeys(texts, "category"))
    model = model(random_state=0, categorical_features="from_dtype").fit(both[: len(x)], y)
    return model.predict(both[len(x) :]), y_test


def trees_classes(folder):
    """Accuracy of boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    predicted, target = trees(folder, HistGradientBoostingClassifier)
    return float((predicted == target).mean())


def trees_numbers(folder):
    """Mean absolute error of boosted trees."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    predicted, target = trees(folder, HistGradientBoostingRegressor)
    return float(np.abs(predicted - target).mean())


def sklearn_numbers(folder):
    """Boosted trees; the mean absolute error."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    train, (x_test, y_test) = numbers(folder)
    model = HistGradientBoostingRegressor(random_state=0).fit(*train)
    return float(np.abs(model.predict(x_test) - y_test).mean())


def sklearn_texts(folder):
    """Logistic regression on TF-IDF."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    (x, y), (x_test, y_test) = table(folder, "train"), table(folder, "test")
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression())
    return float(model.fit(x["text"], y).score(x_test["text"], y_test))


def sklearn_series(folder):
    """Boosted trees on six statistics of a series."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    def figures(values):
        slope, _ = np.polyfit(np.linspace(0, 1, len(values)), values, 1)
        steps = np.abs(np.diff(values))
        return [len(values), slope, np.std(values), np.ptp(values), steps.mean(), steps.max()]

    (x, y), (x_test, y_test) = (
        (np.array([*map(figures, lists)]), labels)
        for lists, labels in (series(folder, "train"), series(folder, "test"))
    )
    model = HistGradientBoostingClassifier(random_state=0).fit(x, y)
    return float(model.score(x_test, y_test))


def sklearn_files(folder, read):
    """SVM on flattened values of files."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    (x, y), (x_test, y_test) = (files(folder, split, read) for split in ("train", "test"))
    model = make_pipeline(StandardScaler(), SVC(C=10)).fit(x.reshape(len(x), -1), y)
    return float(model.score(x_test.reshape(len(x_test), -1), y_test))


def sklearn_images(folder):
    """SVM on pixels."""
    return sklearn_files(folder, pixels)


def sklearn_sounds(folder):
    """SVM on a coarse spectrogram."""

    def coarse(path):
        power = np.abs(tf.signal.stft(second(path), 255, 128).numpy())[:60, :128]
        return np.log(power.reshape(20, 3, 32, 4).mean(axis=(1, 3)) + 1e-3)

    return sklearn_files(folder, coarse)


def sklearn_spectra(folder):
    """Logistic regression on the mean spectrum."""
    from sklearn.linear_model import LogisticRegression

    def mean(path):
        return np.log(np.abs(tf.signal.stft(second(path), 255, 128).numpy()) + 1e-3).mean(axis=0)

    train, test = files(folder, "train", mean), files(folder, "test", mean)
    return float(LogisticRegression(max_iter=1000).fit(*train).score(*test))


if __name__ == "__main__":
    keras.utils.set_random_seed(int(sys.argv[3]))
    print(json.dumps({"metric": globals()[sys.argv[1]](Path(sys.argv[2]))}))

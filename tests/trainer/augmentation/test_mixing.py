"""Mixup and CutMix are functions of (seed, step, place in the batch), alike for any workers."""

import numpy as np
import pytest
import tensorflow as tf

from trainer.augmentation.mixing import draw_mixtures, mix


@pytest.fixture(scope="module")
def batch():
    """Eight records of one color each: 0, 20, …; their shares and weights."""
    images = np.broadcast_to(np.arange(8)[:, None, None, None] * 20, (8, 12, 10, 3))
    return (
        tf.constant(images, tf.uint8),
        tf.one_hot(np.arange(8), 8),
        tf.constant(np.arange(8), tf.float32),
    )


def mixed(mixup, cutmix, batch, step=5, seed=3):
    return mix(draw_mixtures(mixup, cutmix, seed, step, 4), *batch)


@pytest.mark.parametrize(("mixup", "cutmix"), [(0.2, 0.0), (0.0, 1.0), (0.4, 1.0)])
def test_a_record_and_its_neighbour_share_image_target_and_weight_alike(mixup, cutmix, batch):
    images, shares, weights = (each.numpy() for each in mixed(mixup, cutmix, batch))

    kept = np.diag(shares)
    assert ((kept >= 0) & (kept <= 1)).all()
    for number in range(8):
        other = number ^ 1
        assert shares[number].sum() == pytest.approx(1)
        assert shares[number, other] == pytest.approx(1 - kept[number])
        expected = kept[number] * number + (1 - kept[number]) * other
        assert weights[number] == pytest.approx(expected, abs=1e-5)
        assert images[number].mean() == pytest.approx(20 * expected, abs=0.51)
        if not mixup:  # each pixel is of one of the two
            assert set(np.unique(images[number])) <= {20 * number, 20 * other}


def test_what_is_drawn_depends_on_seed_and_step_alone(batch):
    def kept(**where):
        return np.diag(mixed(1.0, 0.0, batch, **where)[1])[::2]

    np.testing.assert_array_equal(kept(), kept())
    assert len({*kept(), *kept(step=6), *kept(seed=4)}) == 12


def test_the_shares_are_beta_distributed():
    drawn = draw_mixtures(0.2, 0.0, 1, 2, 20_000).kept.numpy()

    assert np.isfinite(drawn).all()
    assert drawn.mean() == pytest.approx(0.5, abs=0.01)
    assert drawn.var() == pytest.approx(1 / (4 * 1.4), abs=0.005)  # of Beta(0.2, 0.2)


def test_half_of_the_pairs_is_mixed_each_way():
    drawn = draw_mixtures(0.2, 1.0, 1, 2, 2000)

    assert drawn.by_area.numpy().mean() == pytest.approx(0.5, abs=0.05)
    by_cutmix = drawn.kept.numpy()[drawn.by_area.numpy()]
    assert by_cutmix.var() == pytest.approx(1 / 12, abs=0.01)  # uniform

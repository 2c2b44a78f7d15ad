"""Pictures of sounds."""

import base64
import io

import numpy as np
import pytest
from file_bytes import sound_bytes
from PIL import Image

from beam_pipeline.report.pictures import audio


@pytest.mark.parametrize(("rate", "seconds"), [(8000, 0.2), (44100, 0.5), (200, 1.0)])
def test_a_tone_is_at_its_frequency_in_the_spectrogram(rate, seconds):
    """At eight tenths of the height, in the second half after silence."""
    times = np.arange(int(rate * seconds))
    tone = np.sin(2 * np.pi * 0.4 * times) * (times > len(times) / 2)
    encoded = audio(sound_bytes(0.5 * tone, "WAV", rate))["spectrogram"].partition(",")[2]

    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded))), int)
    height, width = picture.shape
    assert width > 20 or rate == 200
    assert abs(picture[:, -width // 4].argmax() / height - 0.2) < 0.1
    assert picture[:, 0].max() < picture[:, -width // 4].max() - 100

"""The colours of series can be told apart, whatever cones an eye has."""

from itertools import combinations

import numpy as np
import pytest

from comity.core import palette

# Linear RGB as seen with one kind of cone missing: Machado, Oliveira and Fernandes, 2009, severity 1.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> np.ndarray:
    """Linear RGB of "#rrggbb"."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of linear RGB under daylight (D65)."""
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def least_difference(colours: tuple[str, ...], sight: np.ndarray) -> float:
    return min(
        float(np.linalg.norm(lab(sight @ linear(a)) - lab(sight @ linear(b))))
        for a, b in combinations(colours, 2)
    )


def test_lab_of_known_colours() -> None:
    np.testing.assert_allclose(lab(linear("#ffffff")), [100, 0, 0], atol=0.05)
    np.testing.assert_allclose(lab(linear("#ff0000")), [53.24, 80.09, 67.20], atol=0.1)


DARK = dict(palette.THEME.values())
DARK_SERIES = tuple(DARK.get(colour, colour) for colour in palette.SERIES)


def contrast(first: str, second: str) -> float:
    """The contrast of two colours as the accessibility guidelines (WCAG 2) define it."""
    darker, lighter = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (first, second))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("colours", [palette.SERIES, DARK_SERIES], ids=["light", "dark"])
def test_series_differ_for_every_sight(colours: tuple[str, ...], sight: str) -> None:
    assert least_difference(colours, SIGHT[sight]) > 16


def test_series_are_seen_on_paper() -> None:
    assert min(contrast(colour, palette.PAPER) for colour in palette.SERIES) > 2.2
    assert min(contrast(colour, palette.DARK_PAPER) for colour in DARK_SERIES) > 3


@pytest.mark.parametrize("name", ["ink", "label", "soft"])
def test_text_is_read_on_light_and_dark_pages(name: str) -> None:
    """WCAG 2 asks for 4.5."""
    for page in (0, 1):
        for ground in ("paper", "wash"):
            assert contrast(palette.THEME[name][page], palette.THEME[ground][page]) > 4.5


def test_names_after_the_last_colour_begin_again() -> None:
    assert palette.series(10) == [*palette.SERIES, *palette.SERIES[:2]]


def test_text_can_be_read_on_every_cell() -> None:
    """The contrast of the web's guidelines (WCAG 2): at least 4.5 to 1, wherever a value lies."""

    def luminance(colour: str) -> float:
        return float(linear(colour) @ np.array([0.2126, 0.7152, 0.0722]))

    text = luminance(palette.ON_CELL)
    assert [palette.shade(value, 0, 2) for value in (0, 1, 2)] == list(palette.SCALE)
    assert palette.shade(1.0, 1.0, 1.0) == palette.SCALE[1]
    for value in np.linspace(0, 1, 21):
        assert (luminance(palette.shade(float(value), 0, 1)) + 0.05) / (text + 0.05) >= 4.5

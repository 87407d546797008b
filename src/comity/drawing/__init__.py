"""Scenes made visible: `pixels.paint` gives a picture, `text.write` lines for a terminal."""

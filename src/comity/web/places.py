"""Paths that a request names: inside the folder that is shown, or refused."""

from pathlib import Path, PurePosixPath


class OutsideError(Exception):
    """A path that is not inside the folder, or does not exist in it."""


class Root:
    """The folder that is shown. Hidden files, and links that lead out of it, are not part of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def find(self, text: str) -> Path:
        """What a relative path names; raises unless it exists inside the folder."""
        pure = PurePosixPath(text)
        bad = "\0" in text or "\\" in text or pure.is_absolute() or len(text) > 1000
        if bad or any(part.startswith(".") for part in text.split("/") if part != "" and text != "."):
            raise OutsideError
        try:
            found = (self.folder / pure).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            raise OutsideError from None
        if found != self.folder and self.folder not in found.parents:
            raise OutsideError
        return found

    def name(self, path: Path) -> str:
        """The relative path by which requests name a file or folder."""
        return path.relative_to(self.folder).as_posix()

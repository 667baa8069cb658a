"""Which version of a model a bundle uses: as `navi.toml` says, unless operators said otherwise."""

from pathlib import Path

from navi.bundle.config import ModelConfig
from navi.bundle.desired import Wish
from navi.core.errors import BundleError
from navi.models.repository import find_versions, newest_whole


def version_directory(directory: Path, name: str, config: ModelConfig, wish: Wish) -> Path:
    """The directory of the version that is to serve. directory: what `config.path` stands for.

    BundleError where none is there whole.
    """
    if config.version is None:
        return directory
    if wish.serves is not None:
        return directory / str(wish.serves)
    if config.version != "latest":
        return directory / str(config.version)
    found = find_versions(directory)
    newest = newest_whole(found)
    if newest is None:
        problems = "; ".join(f"{number} {version.problem}" for number, version in found.items())
        raise BundleError(f"model {name!r}: {directory} holds no whole version{f': {problems}' if problems else ''}")
    return directory / str(newest)

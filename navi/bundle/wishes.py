"""What operators can ask for, as changes of what is desired of one model."""

import re
from collections.abc import Mapping

from navi.bundle.desired import STABLE, Shadow, Wish
from navi.core.errors import InvalidArgument, NotFound

_LABEL = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def serve(wish: Wish, version: int | None, serving: int | None, keep: int) -> Wish:
    """Let this version serve from now on; None: the one that `navi.toml` says. serving, keep: now, and see `keep`."""
    last = wish.before if serving is None else (serving, *wish.before)
    before = tuple(dict.fromkeys(each for each in last if each != version))[: keep - 1]
    update = {"off": False, "serves": version, "before": before, "loaded": _without(wish.loaded, version)}
    return wish.model_copy(update=update)


def hold(wish: Wish, version: int) -> Wish:
    """Keep this version loaded, without a share of the traffic."""
    return wish.model_copy(update={"loaded": (*_without(wish.loaded, version), version)})


def release(wish: Wish, version: int, serving: int | None) -> Wish:
    """Let go of this version and of its labels; InvalidArgument for one that has traffic."""
    if version == serving:
        raise InvalidArgument("version", f"{version} serves: let another one serve first")
    labels = {label: number for label, number in wish.labels.items() if number != version}
    gone = wish.labels.keys() - labels.keys()
    if busy := sorted(gone & wish.split.keys()):
        raise InvalidArgument(
            "version", f"{version} has a share of the traffic, as {busy[0]!r}: change the split first"
        )
    shadow = None if wish.shadow is not None and wish.shadow.version == version else wish.shadow
    loaded, before = _without(wish.loaded, version), _without(wish.before, version)
    return wish.model_copy(update={"labels": labels, "shadow": shadow, "loaded": loaded, "before": before})


def label(wish: Wish, name: str, version: int | None) -> Wish:
    """Give a label to a version, which is loaded for it, or take it away (None)."""
    if name == STABLE or not _LABEL.fullmatch(name):
        problem = f"{name!r} is no label: at most 40 of a-z, 0-9, _ and -; {STABLE!r} is that of what serves"
        raise InvalidArgument("label", problem)
    if version is None and name in wish.split:
        raise InvalidArgument("label", f"{name!r} has a share of the traffic: change the split first")
    labels = {each: number for each, number in wish.labels.items() if each != name}
    return wish.model_copy(update={"labels": labels if version is None else {**labels, name: version}})


def split(wish: Wish, shares: Mapping[str, float]) -> Wish:
    """Send shares of the keys to labelled versions; the rest goes to what serves."""
    for name, share in shares.items():
        if name not in wish.labels:
            raise NotFound("label", name, tuple(sorted(wish.labels)))
        if not 0 < share <= 1:
            raise InvalidArgument(f"shares.{name}", f"is {share}, where more than 0 and at most 1 is expected")
    if sum(shares.values()) > 1 + 1e-9:
        raise InvalidArgument("shares", f"add up to {sum(shares.values()):.3g}, which is more than 1")
    return wish.model_copy(update={"split": dict(shares)})


def shadow(wish: Wish, version: int | None, share: float) -> Wish:
    """Let a version score a share of the requests after they were answered; None: none does."""
    if version is None:
        return wish.model_copy(update={"shadow": None})
    if not 0 < share <= 1:
        raise InvalidArgument("share", f"is {share}, where more than 0 and at most 1 is expected")
    return wish.model_copy(update={"shadow": Shadow(version=version, share=share)})


def roll_back(wish: Wish, serving: int | None, before: tuple[int, ...]) -> Wish:
    """Let the version serve again that served before. before: last first; InvalidArgument where there is none."""
    if not before or serving is None:
        raise InvalidArgument("model", "has no version that served before: name the one to load")
    older = tuple(each for each in before[1:] if each != serving)
    return wish.model_copy(update={"serves": before[0], "before": (serving, *older)})


def _without(versions: tuple[int, ...], version: int | None) -> tuple[int, ...]:
    return tuple(each for each in versions if each != version)

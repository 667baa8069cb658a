"""A Grafana dashboard of the metrics that a server exports."""

from importlib.resources import files


def dashboard_json() -> str:
    """As Grafana (10 or newer) imports it."""
    return files(__name__).joinpath("navi.json").read_text(encoding="utf-8")

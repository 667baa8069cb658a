"""Navi: recommendation and ads ranking, served."""

__version__ = "0.1.0"

"""A small typed client for Navi servers; needs grpcio, protobuf and numpy only."""

from navi.client.client import Client
from navi.client.credentials import Credentials
from navi.client.options import CallOptions, Condition, Keys, RankOptions

__all__ = ["CallOptions", "Client", "Condition", "Credentials", "Keys", "RankOptions"]

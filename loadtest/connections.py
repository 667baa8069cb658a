"""Separate connections to one address."""

import asyncio
from collections.abc import Sequence

import grpc

from navi.client.credentials import Credentials, Options
from navi.core.errors import Unavailable

MAX_MESSAGE = 64 << 20
"""Bytes of a request or a reply."""

_OPTIONS: Options = (
    ("grpc.use_local_subchannel_pool", 1),  # channels of one process would share a connection otherwise
    ("grpc.enable_retries", 0),  # a retried call would hide what became of the first try
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", MAX_MESSAGE),
)


async def connect(address: str, count: int, timeout_s: float) -> list[grpc.aio.Channel]:
    """So many channels, connected with the credentials of the environment; Unavailable where they are not within
    `timeout_s`."""
    credentials = Credentials.of_environment()
    channels = [credentials.aio_channel(address, _OPTIONS) for _ in range(count)]
    try:
        await asyncio.wait_for(asyncio.gather(*(channel.channel_ready() for channel in channels)), timeout_s)
    except TimeoutError:
        await close(channels)
        raise Unavailable(f"nothing answers at {address}: no {count} connections within {timeout_s:g} s") from None
    return channels


async def close(channels: Sequence[grpc.aio.Channel]) -> None:
    await asyncio.gather(*(channel.close() for channel in channels))

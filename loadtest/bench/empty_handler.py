"""The least that a grpc.aio server can do: `python -m loadtest.bench.empty_handler --reply FILE --ready-file FILE`."""

import argparse
import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import grpc
import uvloop

from navi.core.files import replacing


class EmptyHandler(grpc.GenericRpcHandler):
    """Answers every unary call with the same bytes."""

    def __init__(self, reply: bytes) -> None:
        self._handler: grpc.RpcMethodHandler[Any, Any] = grpc.unary_unary_rpc_method_handler(self._answer)
        self._reply = reply

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[Any, Any]":  # noqa: ARG002
        return self._handler

    async def _answer(self, request: bytes, context: Any) -> bytes:  # noqa: ARG002 - gRPC's handler signature
        return self._reply


async def serve(reply: bytes, ready_file: Path) -> None:
    """Until SIGTERM, on a free port of the loopback address."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((EmptyHandler(reply),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    with replacing(ready_file) as temporary:
        temporary.write_text(json.dumps({"pid": os.getpid(), "address": f"127.0.0.1:{port}"}), encoding="utf-8")
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await server.stop(None)


def main() -> None:
    """Read the command line and serve."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--reply", type=Path, required=True, help="file with the bytes to answer")
    arguments.add_argument("--ready-file", type=Path, required=True, help="JSON file written when ready")
    given = arguments.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(given.reply.read_bytes(), given.ready_file))


if __name__ == "__main__":
    main()

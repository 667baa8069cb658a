"""Stub servers of the tensor protocols, each in a process of its own."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Literal, TypeAlias

from loadtest.stub.kserve_stub import KServeStub
from loadtest.stub.service import start
from loadtest.stub.tensor_model import TensorModel
from loadtest.stub.tensorflow_stub import TensorFlowStub
from navi.core.errors import FaultError

TensorProtocol: TypeAlias = Literal["kserve", "tfserving"]

STARTING_S = 30.0


def serve_tensors(
    protocol: TensorProtocol, model: TensorModel, on_ready: Callable[[int], None], *, address: str = "127.0.0.1:0"
) -> None:
    """Answer until SIGTERM or SIGINT; `on_ready` is told the port. Call from the main thread."""
    asyncio.run(_serve(protocol, model, on_ready, address))


@contextmanager
def running_tensors(protocol: TensorProtocol, model: TensorModel) -> Iterator[str]:
    """A stub for as long as the block lasts; yields its address."""
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_in_process, args=(protocol, model, theirs), name="tensor-stub")
    process.start()
    theirs.close()
    try:
        if not ours.poll(STARTING_S):
            raise FaultError("the stub server did not start in time")
        yield f"127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()
        ours.close()


async def _serve(protocol: TensorProtocol, model: TensorModel, on_ready: Callable[[int], None], address: str) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    services = [KServeStub(model).service()] if protocol == "kserve" else TensorFlowStub(model).services()
    server, port = await start(*services, address=address)
    on_ready(port)
    await stopped.wait()
    await server.stop(grace=0.5)


def _in_process(protocol: TensorProtocol, model: TensorModel, pipe: Connection) -> None:
    serve_tensors(protocol, model, pipe.send)

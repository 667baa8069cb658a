"""Server reflection: what there is to call, told to those who may know it."""

from collections.abc import Iterable

import grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from navi.server.inference.reflection_pool import ReflectionPool
from navi.server.security.gate import Gate

_METHOD = "ServerReflectionInfo"


def reflection_handler(services: Iterable[str], gate: Gate) -> grpc.GenericRpcHandler:
    """What a grpc.aio server takes for it. services: full names of those to tell of."""
    servicer = reflection.aio.ReflectionServicer(services, pool=ReflectionPool())
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        reflection_pb2.ServerReflectionRequest.FromString,
        reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    name = reflection.SERVICE_NAME
    return grpc.method_handlers_generic_handler(name, {_METHOD: gate.stream(f"/{name}/{_METHOD}", handler)})

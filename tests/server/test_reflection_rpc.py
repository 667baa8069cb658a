"""A client that knows nothing of Navi but its address can call it."""

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase


def test_every_service_is_listed(navi):
    with navi.serve(http_address="") as at:
        services = ProtoReflectionDescriptorDatabase(at.channel).get_services()
    assert set(services) == {
        "navi.v1.RankingService",
        "navi.v1.FeatureService",
        "inference.GRPCInferenceService",
        "tensorflow.serving.PredictionService",
        "tensorflow.serving.ModelService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    }


def test_a_stranger_ranks_by_what_reflection_tells(navi):
    with navi.serve(http_address="") as at:
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(at.channel))
        method = pool.FindServiceByName("navi.v1.RankingService").FindMethodByName("Rank")
        request = GetMessageClass(method.input_type)(k=2, pipeline="home", request_id="hello")
        request.user.number = 42
        call = at.channel.unary_unary(
            f"/{method.containing_service.full_name}/{method.name}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        reply = call(request, timeout=10)
    assert reply.request_id == "hello"
    assert len(reply.scores) == 8
    assert [stage.name for stage in reply.stages] == ["merge"]


def test_reflection_can_be_off(navi):
    with navi.serve(http_address="", reflection=False) as at, pytest.raises(grpc.RpcError) as error:
        ProtoReflectionDescriptorDatabase(at.channel).get_services()
    assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED

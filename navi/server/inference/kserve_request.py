"""What a ModelInferRequest says beside its tensors: outputs, time and rank."""

from collections.abc import Mapping

from navi.core.deadline import Deadline
from navi.core.errors import InvalidArgument
from navi.core.priority import Priority
from navi.wire.buffers import shown
from navi.wire.kserve.inference_pb2 import InferParameter, ModelInferRequest

FINAL_RESPONSE = "triton_enable_empty_final_response"
"""Asks that the last reply of a stream's message is marked as such."""

_REFUSED = {
    "classification": "classes are not made here: ask for the scores",
    "shared_memory_region": "shared memory is not supported",
}


def output_names(request: ModelInferRequest) -> list[str]:
    """The outputs that are asked for; InvalidArgument for a parameter that would change them."""
    for output in request.outputs:
        for name, why in _REFUSED.items():
            if name in output.parameters:
                raise InvalidArgument(f"outputs[{shown(output.name)}].parameters[{name}]", why)
    return [output.name for output in request.outputs]


def check_parameters(request: ModelInferRequest) -> None:
    """InvalidArgument for a parameter whose name Triton keeps to itself; others than those read here are ignored."""
    for name in request.parameters:
        if name.startswith("triton_") and name != FINAL_RESPONSE:
            raise InvalidArgument(f"parameters[{shown(name)}]", "is a reserved name")


def deadline_of(request: ModelInferRequest, deadline: Deadline) -> Deadline:
    """The call's deadline, or an earlier one that the parameter `timeout` asks for, in microseconds."""
    microseconds = _integer(request.parameters, "timeout")
    return deadline.within(microseconds / 1e6) if microseconds else deadline


def priority_of(request: ModelInferRequest, priority: Priority) -> Priority:
    """The call's priority, or the one of the parameter `priority`: 1 is the highest, and 0 says nothing."""
    level = _integer(request.parameters, "priority")
    return Priority(min(level, len(Priority)) - 1) if level else priority


def marks_the_last(request: ModelInferRequest) -> bool:
    return FINAL_RESPONSE in request.parameters and request.parameters[FINAL_RESPONSE].bool_param


def _integer(parameters: Mapping[str, InferParameter], name: str) -> int:
    """The parameter's value; 0 where it is not there, InvalidArgument where it is no integer from 0."""
    if name not in parameters:
        return 0
    kind = parameters[name].WhichOneof("parameter_choice")
    value: int = getattr(parameters[name], kind) if kind in ("int64_param", "uint64_param") else -1
    if value < 0:
        raise InvalidArgument(f"parameters[{name}]", "is no integer from 0")
    return value

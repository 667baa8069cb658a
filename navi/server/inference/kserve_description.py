"""Models in KServe's and Triton's words: metadata, configuration, state, statistics."""

from collections.abc import Iterable, Sequence

from navi.batching.servable import Counted, Servable, VersionState, VersionStatus
from navi.models.backend import TensorSpec
from navi.server.inference.prediction import wire_spec
from navi.server.inference.tally import Counts
from navi.wire.kserve import inference_pb2 as pb

STATES: dict[VersionStatus, str] = {
    "loading": "LOADING",
    "ready": "READY",
    "draining": "UNLOADING",
    "failed": "UNAVAILABLE",
    "unloaded": "UNAVAILABLE",
}


def metadata_of(servable: Servable, versions: Iterable[int]) -> pb.ModelMetadataResponse:
    """versions: that are ready."""
    return pb.ModelMetadataResponse(
        name=servable.name,
        versions=[str(version) for version in sorted(versions)],
        platform=servable.platform,
        inputs=_metadata(servable.signature.inputs),
        outputs=_metadata(servable.signature.outputs),
    )


def config_of(servable: Servable) -> pb.ModelConfigResponse:
    """Dimensions leave out the batch where calls are batched.

    `item_id` is not told: Triton's tools take every input of a configuration for one of the metadata, and all of those
    for needed.
    """
    batched = servable.max_rows > 0
    config = pb.ModelConfig(
        name=servable.name,
        platform=servable.platform,
        backend=servable.platform.partition("_")[0],
        max_batch_size=min(servable.max_rows, 2**31 - 1),
    )
    for spec in servable.signature.inputs:
        config.input.add(**_config(spec, batched=batched))
    for spec in servable.signature.outputs:
        config.output.add(**_config(spec, batched=batched))
    return pb.ModelConfigResponse(config=config)


def index_of(states: Iterable[VersionState], *, ready: bool) -> pb.RepositoryIndexResponse:
    """ready: only those that serve."""
    index = pb.RepositoryIndexResponse()
    for state in states:
        if state.status == "ready" or not ready:
            reason = state.reason or ("unloaded" if state.status == "unloaded" else "")
            version = str(state.version)
            index.models.add(name=state.name, version=version, state=STATES[state.status], reason=reason)
    return index


def statistics_of(servable: Servable, counts: Counts) -> pb.ModelStatistics:
    """Calls are counted that asked for it by name: Triton's tools want one count for all parts of a call.

    Rows, runs, waits and the model's time are sums over all that it did, pipelines' calls among it, and a run's time is
    counted once for all of its calls. Versions that do not count themselves tell their calls' time as the model's.
    """
    told = pb.ModelStatistics(name=servable.name, version=str(servable.version), last_inference=int(counts.last * 1000))
    calls, wait_s, run_s = counts.success, 0.0, counts.run_s
    told.inference_count = told.execution_count = calls
    if isinstance(servable, Counted):
        done = servable.stats
        told.inference_count, told.execution_count = done.rows, done.batches
        wait_s, run_s = done.wait_s, done.run_s
    stats = told.inference_stats
    stats.success.CopyFrom(_duration(calls, counts.success_s))
    stats.fail.CopyFrom(_duration(counts.failed, counts.failed_s))
    stats.queue.CopyFrom(_duration(calls, wait_s))
    stats.compute_input.CopyFrom(_duration(calls, counts.read_s))
    stats.compute_infer.CopyFrom(_duration(calls, run_s))
    stats.compute_output.CopyFrom(_duration(calls, counts.write_s))
    return told


def _metadata(specs: Sequence[TensorSpec]) -> list[pb.ModelMetadataResponse.TensorMetadata]:
    return [
        pb.ModelMetadataResponse.TensorMetadata(name=spec.name, datatype=spec.datatype, shape=spec.dims)
        for spec in map(wire_spec, specs)
    ]


def _config(spec: TensorSpec, *, batched: bool) -> dict[str, object]:
    told = wire_spec(spec)
    # Message constructors take the name of an enum's value.
    data_type = "TYPE_" + {"BYTES": "STRING"}.get(told.datatype, told.datatype)
    return {"name": told.name, "data_type": data_type, "dims": told.dims[1:] if batched else told.dims}


def _duration(count: int, seconds: float) -> pb.StatisticDuration:
    return pb.StatisticDuration(count=count, ns=round(seconds * 1e9))

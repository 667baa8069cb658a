"""`navi evaluate`: how good, how exact and how dear the answers of a bundle are."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from navi.core.errors import BundleError

if TYPE_CHECKING:
    from ranking.evaluation.heldout import Setting
    from ranking.evaluation.variants import Named
    from ranking.training.dataset import Dataset

app = typer.Typer(no_args_is_help=True, help="Measure a bundle: quality, exactness, cost.")

BundleDir = Annotated[Path, typer.Argument(help="Bundle made by `navi train`.", exists=True, file_okay=False)]
Pipeline = Annotated[str | None, typer.Option(help="Pipeline; may be left out where there is one.")]
Seed = Annotated[int, typer.Option(help="Of the users, contexts and negatives drawn, and of the bootstrap.")]


@app.command()
def quality(
    bundle: BundleDir,
    pipeline: Pipeline = None,
    users: Annotated[int, typer.Option(min=2, help="Users asked about; generated data only.")] = 200,
    seed: Seed = 11,
) -> None:
    """Compare the funnel with popularity, with its coarse order, and (generated data) with exhaustive scoring.

    The data set is the one that the bundle was trained on; queries are asked as of its split.
    """
    from navi.bundle.bundle import Bundle
    from navi.cli.offline import default_pipeline
    from ranking.evaluation.heldout import Setting
    from ranking.evaluation.variants import Named
    from ranking.training.progress import RichProgress

    console = Console()
    origin = _origin(bundle)
    with Bundle.open(bundle) as opened, RichProgress(Console(stderr=True)) as progress:
        name = default_pipeline(opened, pipeline)
        asked = Named(opened, name)
        if origin["kind"] == "generated":
            tables = _planted(asked, origin, users=users, seed=seed, progress=progress)
        else:
            tables = _heldout(Setting(asked, _recorded(origin), seed), progress)
    for table in tables:
        console.print(table)


@app.command()
def parity(
    bundle: BundleDir,
    pipeline: Pipeline = None,
    users: Annotated[int, typer.Option(min=1, help="Users asked about.")] = 500,
) -> None:
    """Offline against gRPC, serving against training, ONNX against Torch: the largest differences seen."""
    from ranking.evaluation.parity import report

    Console().print(report(bundle, pipeline, users=users))


@app.command()
def independence(bundle: BundleDir, pipeline: Pipeline = None, seed: Seed = 11) -> None:
    """A candidate's score alone, shuffled, padded and in company: the largest difference seen."""
    from ranking.evaluation.independence import report

    Console().print(report(bundle, pipeline, seed=seed))


@app.command()
def cost(
    bundle: BundleDir,
    pipeline: Pipeline = None,
    requests: Annotated[int, typer.Option(min=10, help="Requests measured.")] = 300,
) -> None:
    """CPU milliseconds of the server per Rank call, by stage, and how much of it is not the models'."""
    from ranking.evaluation.cost import report

    Console().print(report(bundle, pipeline, requests=requests))


def _origin(bundle: Path) -> dict[str, Any]:
    path = bundle / "training.json"
    try:
        origin = json.loads(path.read_text(encoding="utf-8"))["origin"]
    except (OSError, ValueError, KeyError) as error:
        raise BundleError(f"{path} does not say what the bundle was trained on: {error}") from error
    return dict(origin)


def _planted(asked: "Named", origin: dict[str, Any], *, users: int, seed: int, progress: Any) -> list[Any]:
    from ranking.evaluation.planted import evaluate_planted
    from ranking.training.generated import generate

    sizes = {key: value for key, value in origin.items() if key != "kind"}
    result, seen = evaluate_planted(asked, generate(**sizes), users=users, seed=seed, progress=progress)
    items = origin["items"]
    share = f"sources brought at most {seen.brought:,} of {items:,} items ({seen.brought / items:.2%})"
    return [result.table(seed=seed), f"{share}; at most {seen.reranked:,} were re-ranked", *_bars(result)]


def _bars(result: Any) -> list[str]:
    from ranking.evaluation.variants import EXHAUSTIVE, FUNNEL, POPULARITY

    recall, ndcg = result.metrics
    kept = result.mean(recall, FUNNEL) / result.mean(recall, EXHAUSTIVE)
    gain = result.mean(ndcg, FUNNEL) / result.mean(ndcg, POPULARITY)
    return [f"{recall}: {kept:.3f} of exhaustive", f"{ndcg}: {gain:.2f} x popularity"]


def _heldout(setting: "Setting", progress: Any) -> list[Any]:
    from ranking.evaluation.heldout import evaluate_auc, evaluate_ranking

    results = [evaluate_auc(setting, progress), evaluate_ranking(setting, progress)]
    return [result.table(seed=setting.seed) for result in results]


def _recorded(origin: dict[str, Any]) -> "Dataset":
    from ranking.training import completejourney, movielens

    loaders = {"movielens": movielens.load, "completejourney": completejourney.load}
    return loaders[origin["kind"]](Path(origin["folder"]))

"""``fewratio info``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fewratio.cli import exchange

# Rows per sample that a person is told the weight of sources for.
_SIZES = (1, 3, 5)


@exchange.verb
def info(
    model: Annotated[Path, typer.Argument(help="A model that `fewratio train` wrote.")],
    as_json: exchange.AsJson = False,
) -> None:
    """Describe a model: its columns, parameters and training.

    Example: fewratio info sites.model
    """
    from fewratio import load_model

    estimator = load_model(model)
    names = list(getattr(estimator, "feature_names_in_", ()))
    encoding, networks = estimator.encoding_, getattr(estimator, "networks_", [])
    parameters = {name: value for name, value in estimator.get_params().items() if not hasattr(value, "get_params")}
    members = [repr(member) for member in parameters.pop("members", ())]
    payload = {
        "model": str(model),
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "n_features": estimator.n_features_in_,
        "feature_names": names or None,
        "encoding": None if encoding is None else encoding.to_dict(),
        "networks": [network.to_dict() for network in networks],
    }
    if hasattr(estimator, "learned_shares_"):
        payload["learned_shares"] = estimator.learned_shares_
    if members:
        payload["members"] = members
    if networks:
        payload["history"] = estimator.history_.to_dict()
    shown = ", ".join(names[: exchange.SHOWN]) + ", ..." * (len(names) > exchange.SHOWN) or "without names"
    lines = [
        f"model       {type(estimator).__name__}: {model}",
        f"features    {estimator.n_features_in_} ({shown})",
        *([] if encoding is None else [f"encoded     from {encoding.summary}"]),
        *(f"sources     {line}" for line in weight_of_sources(estimator)),
        *(f"trained     {network.summary()}" for network in networks),
        *(f"member      {member}" for member in members),
        f"parameters  {', '.join(f'{name}={value!r}' for name, value in parameters.items())}",
    ]
    exchange.Request(as_json=as_json).deliver(exchange.Answer(lines, payload, {}))


def weight_of_sources(estimator: Any) -> list[str]:
    """Say how much sources count beside what needs none, and whether that was measured."""
    if not hasattr(estimator, "learned_shares_"):
        return []
    from fewratio.estimators.discriminant_model import at_size
    from fewratio.estimators.source_shares import are_measured

    is_measured = are_measured(estimator._shares_of_learned)
    fixed = "" if is_measured else " (fixed shares: fewer than four sources, or very short ones, cannot be held out)"
    of_sizes = (f"{at_size(estimator.learned_shares_, size):.0%} at {size}" for size in _SIZES)
    return [f"count for {', '.join(of_sizes)} rows per sample; what needs no sources counts for the rest{fixed}"]

"""``fewratio info``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio.cli import frame
from fewratio.cli.verb import JSON, Field, Verb
from fewratio.core.wording import join_names, write_count, write_share

if TYPE_CHECKING:
    from fewratio.data.encoding import Encoding
    from fewratio.estimators.closed_form.discriminant_model import Settings

# Numbers of rows per sample for which to report the weight of sources.
_SIZES = (1, 3, 5)
_UNITS = {"ranks": "by ranks", "columns": "in units of each column", "none": "in one unit"}


def info(request: frame.Request, model: Path) -> None:
    """Describe a model (columns, parameters, training) or a reference (rows, columns).

    Example: fewratio info sites.safetensors
    """
    from fewratio import load_model
    from fewratio.data.reference import read_encoding

    if (of_reference := read_encoding(model)) is not None:
        request.deliver(_describe_reference(request, model, of_reference))
        return
    estimator = load_model(model, "model")
    names = list(getattr(estimator, "feature_names_in_", ()))
    encoding, networks = estimator.encoding_, getattr(estimator, "networks_", [])
    parameters = {name: value for name, value in estimator.get_params().items() if not hasattr(value, "get_params")}
    members = [repr(member) for member in parameters.pop("members", None) or ()]
    payload = {
        "model": str(model),
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "n_features": estimator.n_features_in_,
        "feature_names": names or None,
        "encoding": None if encoding is None else encoding.to_dict(),
    }
    # The parts of an automatic estimator contain what it has learned, all from the same sources.
    parts = getattr(estimator, "learned_", [estimator])
    chosen = [(part.settings_, part.scale) for part in parts if hasattr(part, "settings_")]
    if chosen:
        payload["settings"] = [{"scale": scale, **settings._asdict()} for settings, scale in chosen]
        parameters = {name: value for name, value in parameters.items() if value != "auto"}
    counts = {name: getattr(parts[0], f"{name}_", None) for name in ("n_sources", "n_rows")}
    epsilon = getattr(parts[0], "epsilon_", None)
    payload |= {**counts, "epsilon": epsilon, **describe_learned(estimator)}
    if members:
        payload["members"] = members
    shown = ", ".join(names[: frame.SHOWN]) + ", ..." * (len(names) > frame.SHOWN) or "without names"
    lines = [
        f"model       {type(estimator).__name__}: {model}",
        f"features    {estimator.n_features_in_} ({shown})",
        *([] if encoding is None else [f"encoded     from {encoding.summary}"]),
        *(["learned     from {n_sources} sources, {n_rows} rows".format(**counts)] if counts["n_sources"] else []),
        *([] if epsilon is None else [f"private     epsilon {epsilon:g} at most for the rows of each source"]),
        *(f"chosen      {_UNITS[scale]}: {_describe(settings)}" for settings, scale in chosen),
        *(f"sources     {line}" for line in describe_weight_of_sources(estimator)),
        *(f"trained     {network.summary()}" for network in networks),
        *(f"member      {member}" for member in members),
        f"parameters  {', '.join(f'{name}={value!r}' for name, value in parameters.items())}",
    ]
    request.deliver(frame.Answer(lines, payload, {}))


def _describe_reference(request: frame.Request, path: Path, encoding: "Encoding") -> frame.Answer:
    (raw,), _ = request.read(path)
    lines = [f"reference   {write_count(raw.n_rows, 'row')}: {path}", f"columns     {encoding.summary}"]
    return frame.Answer(lines, {"reference": str(path), "n_rows": raw.n_rows, "encoding": encoding.to_dict()}, {})


def _describe(settings: "Settings") -> str:
    of_cosines = f"{settings.n_components} random features of width {settings.width:.3g}"
    return f"{of_cosines if settings.n_components else 'the columns themselves'}, shrinkage {settings.shrinkage:.3g}"


def describe_learned(estimator: Any) -> dict[str, Any]:
    """Describe the networks of a model, their training, and the weight of sources, as plain values."""
    networks = getattr(estimator, "networks_", [])
    found: dict[str, Any] = {"networks": [network.to_dict() for network in networks]}
    if hasattr(estimator, "learned_shares_"):
        found["learned_shares"] = estimator.learned_shares_
    return found | ({"history": estimator.history_.to_dict()} if networks else {})


def describe_weight_of_sources(estimator: Any) -> list[str]:
    """Say how much weight sources have compared with parts that need none, and whether that was measured."""
    if getattr(estimator, "members", None) is not None or not hasattr(estimator, "learned_shares_"):
        return []
    from fewratio.estimators.certainty import SIZES
    from fewratio.estimators.closed_form.discriminant_choice import FEWEST
    from fewratio.estimators.closed_form.discriminant_model import at_size

    n_sources = estimator.learned_[0].n_sources_ or FEWEST
    why = f" (measured on other collections, because fewer than {FEWEST} sources cannot be held out)"
    fixed = why * (n_sources < FEWEST)
    shares = [f"{write_share(at_size(estimator.learned_shares_, size, SIZES))} with {size}" for size in _SIZES]
    counted = f"{shares[0]} row per sample, {join_names(shares[1:])}"
    return [f"what was learned makes up {counted}; the rest is what the two samples show by themselves{fixed}"]


_FILE = "Model that `fewratio train` wrote, or a reference."
VERB = Verb(info, (Field("model", _FILE, Path, is_positional=True, is_required=True), JSON))

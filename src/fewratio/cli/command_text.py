"""The command that would be typed for given values."""

import shlex
from collections.abc import Mapping
from inspect import Parameter
from typing import Any

import typer


def command_text(name: str, parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> str:
    """Write the command that has these values; what is as by default is left out."""
    words = ["fewratio", name.replace("_", "-")]
    for parameter in parameters.values():
        value, info = values.get(parameter.name), parameter.annotation.__metadata__[0]
        if value in (None, [], parameter.default):
            continue
        # typer takes the first name that an option declares for its default.
        declared = filter(lambda each: str(each).startswith("--"), (info.default, *(info.param_decls or ())))
        option = next(declared, f"--{parameter.name}")
        is_argument = isinstance(info, typer.models.ArgumentInfo)
        for each in value if isinstance(value, list) else [value]:
            words += [str(each)] if is_argument else [option.replace("_", "-")] + [str(each)] * (each is not True)
    return shlex.join(words)

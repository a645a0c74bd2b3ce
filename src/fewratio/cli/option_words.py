"""Messages of the library with command-line options in the place of Python's arguments."""

import re
from collections.abc import Collection

from fewratio.errors import FewRatioError, ParameterError

# Parameters whose options are called otherwise.
_OPTIONS = {
    "n_jobs": "jobs",
    "n_permutations": "permutations",
    "max_steps": "steps",
    "n_compared": "compared",
    "random_state": "seed",
}
# "clip is -1; ..." is ours, the other scikit-learn's.
_PARAMETER = re.compile(r"^(?:The ')?(?P<name>\w+)(?:(?= is )|' parameter of \w+(?= must be ))")
# On the command line an option is given or not, and nobody thinks of types.
_PLAIN = {
    "must be None or ": "must be ",
    ", or None.": ", or leave it out.",
    " a float in ": " a number in ",
    " a str among ": " one of ",
}
# Some messages give the option as well, in brackets.
_ARGUMENT = re.compile(
    r"\b(?P<name>\w+)="
    r"((?P<quote>[\"'])(?P<text>.*?)(?P=quote)( \(--(?P=name) (?P=text)\))?|(?P<value>\w+(\.\d+)?))?"
)


def in_option_words(error: FewRatioError, options: Collection[str]) -> str:
    """Give a message with options in the place of Python's arguments.

    Parameters
    ----------
    error : FewRatioError
        What the library raised.
    options : collection of str
        What can be given to the verb, without dashes.
    """
    message = str(error)
    if isinstance(error, ParameterError):
        message = _PARAMETER.sub(lambda found: _option(found, options) or found[0], message)
        for python, plain in _PLAIN.items():
            message = message.replace(python, plain)
    return arguments_as_options(message, options)


def arguments_as_options(message: str, options: Collection[str]) -> str:
    """Put ``--name value`` for ``name="value"``, ``--name`` for ``name=`` and ``name=True``, if the verb has it.

    Examples
    --------
    >>> arguments_as_options('Pass common=True, decimal="," or name it in keep=.', ["common", "decimal", "keep"])
    'Pass --common, --decimal , or name it in --keep.'
    """

    def as_option(found: re.Match[str]) -> str:
        option = _option(found, options)
        text = found["text"]
        value = f"'{text}'" if text and " " in text else text or found["value"]
        return found[0] if option is None else option if value in (None, "True") else f"{option} {value}"

    return _ARGUMENT.sub(as_option, message)


def _option(found: re.Match[str], options: Collection[str]) -> str | None:
    # Of settings within settings, such as training__max_steps, the last name.
    name = found["name"].rpartition("__")[2]
    name = _OPTIONS.get(name, name)
    return f"--{name}" if name in options else None

"""Parameter constraints: the only module that uses scikit-learn's private tables of constraints."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _param_validation
from sklearn.utils._param_validation import HasMethods as HasMethods
from sklearn.utils._param_validation import Interval as Interval
from sklearn.utils._param_validation import StrOptions as StrOptions

from fewratio.core.arguments import MAX_COUNT, advise_names, show_value
from fewratio.core.units import ColumnScaling
from fewratio.core.wording import quote_list
from fewratio.errors import ParameterError, name_parameter

COUNT = Interval(Integral, 1, MAX_COUNT, closed="both")
POSITIVE, NOT_NEGATIVE = (Interval(Real, 0, None, closed=closed) for closed in ("neither", "left"))
# Constraints of parameters that several estimators have.
_COMMON: dict[str, list[Any]] = {
    "alpha": [Interval(Real, 0, 1, closed="left")],
    "sigma": [StrOptions({"median"}), POSITIVE],
    "centres": [StrOptions({"both", "numerator"}), COUNT],
    "learning_rate": [POSITIVE],
    "n_folds": [Interval(Integral, 2, None, closed="left")],
    "scale": [StrOptions({"columns", "none"}), ColumnScaling],
    "device": [str],
    "random_state": [None, Interval(Integral, 0, None, closed="left"), np.random.Generator],
}


def common(*names: str) -> dict[str, list[Any]]:
    """Return the part of a table of parameter constraints that is the same for all estimators."""
    return {name: _COMMON[name] for name in names}


class Parameters(BaseEstimator):
    """Parameters as in scikit-learn, with a table of constraints."""

    # The table of constraints; each subclass defines one.
    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Refuse parameters that the class does not have, and suggest similar names."""
        known = cls._get_param_names()
        if unknown := [name for name in parameters if name not in known]:
            found = f"{cls.__name__} has no parameter {quote_list(unknown)}"
            raise ParameterError(f"{found}; those are {', '.join(known)}. {advise_names(unknown, known)}")
        return super().__new__(cls)

    def _check_parameters(self, owner: str | None = None, prefix: str = "") -> None:
        """Refuse invalid values; settings of a group are named as in `set_params` of its owner."""
        owner = owner or type(self).__name__
        for name, value in self.get_params(deep=False).items():
            allowed, name = self._parameter_constraints.get(name, "no_validation"), prefix + name
            called = f"The {name!r} parameter of {owner}"
            named = name_parameter(name, python=called)
            value = _as_number(named, value, allowed)
            try:
                _param_validation.validate_parameter_constraints({name: allowed}, {name: value}, caller_name=owner)
            except _param_validation.InvalidParameterError as error:
                # Users who are new to Python do not think in types.
                text = str(error).replace(called, named).replace(" a float in ", " a number in ")
                raise ParameterError(text.replace(" a str among ", " one of ")) from None


def _as_number(named: str, value: Any, allowed: Any) -> Any:
    """Return numbers as floats; refuse booleans, which are numbers in Python, and numbers too large for a float.

    Other values are returned unchanged, to be checked against the table of constraints.
    """
    is_switch = not isinstance(allowed, list) or any(each in ("boolean", bool) for each in allowed if each is not None)
    if isinstance(value, bool | np.bool_) and not is_switch:
        raise ParameterError(f"{named} is {value}; expected a value, not a switch. Pass one.")
    if not isinstance(value, Real) or (isinstance(value, Integral) and abs(int(value)) <= MAX_COUNT):
        return value
    try:
        number = float(value)
    except OverflowError:
        number = -1e200 if value < 0 else 1e200
    # Kernels and divergences need squares and their inverses.
    if np.isfinite(number) and number and not 1e-150 <= abs(number) <= 1e150:
        found = f"{named} is {show_value(value)}, whose square no float can hold"
        raise ParameterError(f"{found}; expected 0, or a size from 1e-150 to 1e150. Pass one of a usual size.")
    return value if isinstance(value, Integral) else number

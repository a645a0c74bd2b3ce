"""Known densities, a thousand numerator and five hundred denominator instances: how near the plain ratio is."""

import numpy as np
import pytest

from fewratio import KLIEP, ULSIF
from fewratio.estimators import KMM
from tests.densities import KNOWN_PAIRS, relative_error

ESTIMATORS = [ULSIF(sigma="cv", reg="cv", random_state=0), KLIEP(random_state=0), KMM(random_state=0)]


@pytest.mark.slow
@pytest.mark.parametrize("pair", KNOWN_PAIRS.values(), ids=KNOWN_PAIRS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_the_ratio_is_near_the_truth(estimator, pair):
    errors, means = [], []
    for seed in range(10):
        X_nu, X_de = pair.samples(1000, 500, seed)
        ratio = estimator.fit(X_nu, X_de).predict(X_de)
        errors.append(relative_error(ratio, pair.ratio(X_de)))
        means.append(abs(ratio.mean() - 1))
    assert np.median(errors) <= 0.5
    assert np.median(means) <= 0.02

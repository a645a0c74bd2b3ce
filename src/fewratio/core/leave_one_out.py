"""Ratios at held-out instances: each pair of instances is left out in turn, without solving again."""

from dataclasses import replace

from fewratio.core.arrays import namespace
from fewratio.core.ridge import Moments, RidgePath
from fewratio.core.shapes import Array, Float


class LeaveOneOut:
    """The ratio at pairs (nu_i, de_i) by the weights of Eq. 5 without that pair, exactly, for a path of regularisers.

    Without a pair, whose features are the columns of U = [u v], the means are over n_nu - 1 and n_de - 1 rows, and
    Eq. 5 reads (A - U C U') w = b with

    - A = alpha / (n_nu - 1) sum_nu(phi phi') + (1 - alpha) / (n_de - 1) sum_de(phi phi') + reg I,
    - C = diag(alpha / (n_nu - 1), (1 - alpha) / (n_de - 1)),
    - b = (sum_nu(phi) - u) / (n_nu - 1).

    A is the same for all pairs, so that one eigendecomposition serves them and all regularisers. The ratios
    r = U'w before clipping solve the two equations (I - G C) r = U'A^-1 b, G = U'A^-1 U, and the weights themselves
    are w = A^-1 (b + U C r).

    Parameters
    ----------
    moments : Moments
        Moments of all rows, at least two per sample.
    alpha : float
        Relative parameter, 0 <= alpha < 1.
    regs : array of shape (n_regs,)
        Regularisers lambda.
    clip : {"ratio", "weights"}
        How to keep the ratio non-negative: ``r = max(0, w'phi)``, or ``w = max(0, w)``.
    """

    def __init__(self, moments: Moments, alpha: float, regs: Float[Array, " n_regs"], clip: str) -> None:
        fewer = replace(moments, n_nu=moments.n_nu - 1, n_de=moments.n_de - 1)
        self.clip = clip
        self.path = RidgePath.of(fewer.K(alpha), regs)
        self.k = fewer.k @ self.path.vectors
        self.scaled_k = self.k[:, None] * self.path.inverse
        self.share_nu, self.c_nu, self.c_de = 1 / fewer.n_nu, alpha / fewer.n_nu, (1 - alpha) / fewer.n_de

    def ratios(self, phi_nu: Float[Array, "p t"], phi_de: Float[Array, "p t"]) -> Float[Array, "n_regs 2 p"]:
        """Return the ratio at the numerator's and at the denominator's instance of each pair.

        Parameters
        ----------
        phi_nu, phi_de : array of shape (p, t)
            Features of the pairs to leave out; their rows must be part of the moments.
        """
        xp = namespace(phi_nu)
        inverse, c_nu, c_de = self.path.inverse, self.c_nu, self.c_de
        u, v = phi_nu @ self.path.vectors, phi_de @ self.path.vectors
        # Each of shape (p, n_regs): the entries of G, and of U'A^-1 b.
        g_uv, g_uu, g_vv = (u * v) @ inverse, u**2 @ inverse, v**2 @ inverse
        b_u = u @ self.scaled_k - self.share_nu * g_uu
        b_v = v @ self.scaled_k - self.share_nu * g_uv
        # Cramer's rule for (I - G C) r = U'A^-1 b.
        one_u, one_v = 1 - c_nu * g_uu, 1 - c_de * g_vv
        determinant = one_u * one_v - c_nu * c_de * g_uv**2
        r_u = (one_v * b_u + c_de * g_uv * b_v) / determinant
        r_v = (one_u * b_v + c_nu * g_uv * b_u) / determinant
        if self.clip == "ratio":
            return xp.stack([r_u.mT, r_v.mT], 1).clip(min=0)

        ratios = []
        for each in range(inverse.shape[-1]):
            b_and_pair = self.k + (c_nu * r_u[:, each, None] - self.share_nu) * u + c_de * r_v[:, each, None] * v
            w = ((b_and_pair * inverse[:, each]) @ self.path.vectors.mT).clip(min=0)
            ratios.append(xp.stack([(w * phi_nu).sum(-1), (w * phi_de).sum(-1)]))
        return xp.stack(ratios)

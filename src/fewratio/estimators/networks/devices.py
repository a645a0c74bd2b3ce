"""Where to compute."""

import torch

from fewratio.errors import ParameterError


def resolve_device(device: str) -> torch.device:
    """Turn a device's name into a device; "auto" takes CUDA where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
        if resolved.type == "cuda" and not torch.cuda.is_available():
            raise ParameterError(f"device is {device!r}, but there is no CUDA device here. Use 'auto' or 'cpu'.")
        # Not every device that torch knows is here, or knows the float64 of the ridge solve.
        torch.zeros((), dtype=torch.float64, device=resolved).item()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise ParameterError(
            f"device is {device!r}, which cannot be used here. Use 'auto', 'cpu' or 'cuda'."
        ) from error
    return resolved

"""A training step captured as one CUDA graph."""

import gc
from collections.abc import Callable

import torch


class GraphedStep:
    """Calls a step a few times as it is, then captures it and replays the capture.

    The first calls warm up what cannot be captured (allocations, library handles); they are real steps. The step must
    be all device work on fixed tensors: no value may travel to the host.

    Parameters
    ----------
    step : callable
        The step, without arguments or result.
    warm_up : int
        Number of plain calls before the capture.
    """

    def __init__(self, step: Callable[[], None], warm_up: int = 3) -> None:
        self._step = step
        self._warm_up = warm_up
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        """Do one step."""
        if self._warm_up > 0:
            self._warm_up -= 1
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self._step()
            torch.cuda.current_stream().wait_stream(side)
            return
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            # A graph of an earlier training that is freed while another is captured would spoil the capture.
            gc.collect()
            was_enabled = gc.isenabled()
            gc.disable()
            try:
                with torch.cuda.graph(self._graph):
                    self._step()
            finally:
                if was_enabled:
                    gc.enable()
        self._graph.replay()

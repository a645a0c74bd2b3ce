"""The paper's data: where each set comes from and how it is read. Importing this registers them."""

from fewratio.data.registry import register_source
from fewratio_bench.sources import iot, isolet, landmine, mnist_r, school

for _module in (iot, isolet, landmine, mnist_r, school):
    register_source(_module.SOURCE)

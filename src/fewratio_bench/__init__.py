"""The reproduction of the paper: experiments, their records, and tables made from the records.

Importing it makes the paper's data known to `fewratio.load_collection`.
"""

from fewratio_bench import sources as sources

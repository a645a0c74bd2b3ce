"""What `benchmarks/faults.py` does to fewratio."""

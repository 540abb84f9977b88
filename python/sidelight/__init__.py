"""Sidelight finds evidence in an Obsidian vault and cites the lines where it stands now."""

import os

# Before numpy is loaded: a matrix times a vector is bound by memory, and a second BLAS thread
# only waits for work by spinning (27 of 100 ms of processor a query on two cores).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

"""What native libraries are told before they are loaded.

Some keep threads from then on, for work that nobody here gives them.
"""

# Without them a process may be forked.
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",  # NumPy's
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pyarrow's
}
# The pages of a Parquet file come from no pool that Python sets, and Arrow's own keeps them.
ONE_POOL = {"ARROW_DEFAULT_MEMORY_POOL": "system"}

"""Environment variables for native libraries, which read them when they are loaded."""

# No threads of their own, so that a process may be forked.
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",  # NumPy's
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pyarrow's
}
# Python cannot set the pool for a Parquet file's pages, and Arrow's own keeps freed memory.
ONE_POOL = {"ARROW_DEFAULT_MEMORY_POOL": "system"}

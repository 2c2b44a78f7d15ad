"""Native libraries that keep threads from their load on, for work that nobody here gives them."""

# Without them a process may be forked.
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",  # NumPy's
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pyarrow's
}

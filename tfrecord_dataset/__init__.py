"""What `beam_pipeline` and `trainer` share: errors, stores, files that stay, text that is shown.

It loads no Beam, TensorFlow or pyarrow.
"""

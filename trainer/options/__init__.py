"""The options of the commands. Imports no TensorFlow."""

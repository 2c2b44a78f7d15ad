"""Images, audio, arrays or texts in folders."""

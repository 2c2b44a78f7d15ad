"""What Beam ships to remote workers with `--setup_file`; pyproject.toml says the rest."""

import setuptools

setuptools.setup()

"""Environments with the libraries of each peer, in the user's cache, made on first use."""

import subprocess
import sys
import venv

from tfrecord_dataset.store.user_cache import cache_folder

# Packages, at the versions of the last published run; "" is the current environment.
PACKAGES = {
    "grain": ["grain==0.2.18", "opencv-python-headless==5.0.0.93"],
    "torch": ["torch==2.15.0", "torchvision", "webdataset==1.0.2"],
    "dali": ["nvidia-dali-cuda120==2.4.0", "numpy"],
    # Building it requires: apt-get install libopencv-dev libturbojpeg0-dev pkg-config
    "ffcv": [
        *["torch==2.15.0", "torchvision", "setuptools", "numba", "opencv-python-headless"],
        *["terminaltables", "pytorch_pfn_extras", "fastargs", "assertpy", "tqdm", "psutil"],
    ],
    "ray": ["ray[data]==2.60.0", "crc32c==2.9.post0", "tensorflow-cpu==2.21.0"],
}
# Installed last, without dependencies: FFCV requires an OpenCV that needs a display.
ALONE = {"ffcv": ["ffcv==1.0.2"]}


def python(name: str) -> str:
    """The interpreter of an environment.

    Raises:
        subprocess.CalledProcessError: It cannot be installed here.
    """
    if not name:
        return sys.executable
    folder = cache_folder() / "peers" / name
    found = str(folder / "bin" / "python")
    if not (folder / "ready").exists():
        print(f"installing {', '.join(PACKAGES[name])} in {folder}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        install = [found, "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, *PACKAGES[name]], check=True)
        if name in ALONE:
            alone = ["--no-deps", "--no-build-isolation", *ALONE[name]]
            subprocess.run([*install, *alone], check=True)
        (folder / "ready").touch()
    return found


def versions(name: str) -> list[str]:
    """Installed versions of the environment's `PACKAGES`: name==version."""
    frozen = subprocess.run(
        [python(name), "-m", "pip", "freeze"], capture_output=True, text=True, check=True
    ).stdout.split()
    packages = [*PACKAGES.get(name, []), *ALONE.get(name, [])]
    wanted = {package.partition("==")[0].partition("[")[0] for package in packages}
    return [line for line in frozen if line.partition("==")[0] in wanted]


def can_be_installed(name: str) -> bool:
    """Whether an environment is available; if not, prints why."""
    try:
        python(name)
    except subprocess.CalledProcessError as error:
        print(f"left out, for it cannot be installed here: {name} ({error})", file=sys.stderr)
        return False
    return True

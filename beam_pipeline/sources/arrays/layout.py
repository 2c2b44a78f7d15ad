"""The layout `arrays`: .npz, .npy, HDF5 and MATLAB files whose first axis is the records."""

from beam_pipeline.media import hdf5, matlab
from beam_pipeline.sources.arrays.files import is_array
from beam_pipeline.sources.arrays.read import ReadArrays
from beam_pipeline.sources.folders.profile import main_kind, profile_of
from beam_pipeline.sources.layout import Layout, Place, container_places, read_by
from beam_pipeline.sources.paths import folder
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.split_names import is_split


def find_arrays(tree: Tree) -> list[Place]:
    """Files called .npy, .npz, .h5 or .mat, more than images or audio; in no folders but splits."""
    profiles = profile_of(tree.names())
    has_media = any(profile.number for profile in profiles.values())
    if has_media and main_kind(profiles) != "array":
        return []
    arrays = [name for name in tree.files() if is_array(name)]
    folders = {folder(name) for name in arrays}
    if folders != {""} and not all(map(is_split, folders)):
        return []  # folders of classes
    return container_places(arrays)


LAYOUT = Layout(
    name="arrays",
    sign=".npz, .npy, .h5 or .mat files, not in one folder per class",
    kind="container",
    **read_by(ReadArrays),
    suffixes=("npz", "npy", *hdf5.SUFFIXES, matlab.SUFFIX),
    find=find_arrays,
)

"""Choice of the backend by path: local, remote or archive."""

from beam_pipeline.files.archive.backend import Archives
from beam_pipeline.files.archive.paths import inside
from beam_pipeline.files.backend import Backend
from beam_pipeline.files.faults import UnknownSchemeError
from beam_pipeline.files.local import LOCAL
from tfrecord_dataset.store.urls import is_object, is_remote, scheme_of


def files_of(path: str) -> Backend:
    """Return the backend of a path; the store library is imported on first use.

    Raises:
        UnknownSchemeError: No backend supports the path's scheme.
    """
    if ":" in path and inside(path):
        return ARCHIVES
    if not is_remote(path):
        return LOCAL
    if not is_object(path):
        raise UnknownSchemeError(
            f"{scheme_of(path)}:// is not supported; copy the data to a folder or a "
            "bucket (gs://, s3://, az://)"
        )
    from beam_pipeline.files.remote import REMOTE

    return REMOTE


ARCHIVES = Archives(files_of)

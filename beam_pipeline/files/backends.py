"""The kinds of files: of this machine, of stores, and in archives."""

from beam_pipeline.files.archive.backend import Archives
from beam_pipeline.files.archive.paths import inside
from beam_pipeline.files.backend import Backend
from beam_pipeline.files.faults import UnknownSchemeError
from beam_pipeline.files.local import LOCAL
from tfrecord_dataset.store.urls import is_object, is_remote, scheme_of


def files_of(path: str) -> Backend:
    """The files of the kind of a path; what remote ones need is loaded once one is asked for.

    Raises:
        UnknownSchemeError: It is of no kind.
    """
    if ":" in path and inside(path):
        return ARCHIVES
    if not is_remote(path):
        return LOCAL
    if not is_object(path):
        raise UnknownSchemeError(
            f"{scheme_of(path)}:// is not read or written; copy the data to a folder, or to a "
            "bucket (gs://, s3://, az://)"
        )
    from beam_pipeline.files.remote import REMOTE

    return REMOTE


ARCHIVES = Archives(files_of)

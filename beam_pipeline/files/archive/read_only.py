"""What all files in archives have in common: nothing is written."""

import errno
from typing import Any

from beam_pipeline.files.backend import Backend


class ReadOnly(Backend):
    """Files of archives, which refuse to be written."""

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.EROFS, "Nothing is written into an archive", args[0])

    create = writing = make_folder = _place = delete = _refuse

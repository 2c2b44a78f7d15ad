"""A folder with archives in it, as if each were unpacked to a folder of its name; only to read.

`downloads/*.zip:` is the folder `downloads` in which `train.zip` is a folder `train`. Where all of
an archive lies in one folder that is called like it, or like a split, that folder is meant.
"""

from collections.abc import Callable, Iterator
from typing import Any

from beam_pipeline.files.archive.paths import each_of, inside, top_of
from beam_pipeline.files.backend import Backend, ReadOnly
from tfrecord_dataset.format.split_names import is_split
from tfrecord_dataset.store.listing import FileNames, pattern_regex


def _of_real(method: str) -> Callable[..., Any]:
    """A method that is that of what is at the real path."""

    def call(self: "UnpackedFolders", path: str, *arguments: Any) -> Any:
        real = self.real(path)
        return getattr(self._files_of(real), method)(real, *arguments)

    return call


class UnpackedFolders(ReadOnly):
    """Folders of archives; nothing of them is held here."""

    calls = 1

    def __init__(self, files_of: Callable[[str], Backend]):
        self._files_of = files_of

    def real(self, path: str) -> str:
        """The path of what is at `path`: in an archive, or beside the archives."""
        where = inside(path)
        assert where  # else the path is of another kind
        folder, _, ending = where.archive.rpartition("/*.")
        first, _, rest = (where.name or "").partition("/")
        archive = f"{folder}/{first}.{ending}"
        if not first or not self._files_of(archive).exists(archive):
            return f"{folder}/{where.name}" if where.name else folder
        top = self._home(archive)
        return f"{top}/{rest}" if rest else top

    def _home(self, archive: str) -> str:
        """The folder in an archive that is meant by its name."""
        top = top_of(archive)
        folders, files = self._files_of(top).list_folder(top)
        [only] = folders if len(folders) == 1 and not files else [""]
        name = archive.rpartition("/")[2].rpartition(".")[0]
        return f"{top}/{only}" if only and (only == name or is_split(only)) else top

    read, open_reader, status = _of_real("read"), _of_real("open_reader"), _of_real("status")
    exists, is_folder = _of_real("exists"), _of_real("is_folder")
    _listed, _scanned = _of_real("list_names"), _of_real("scan_folder")

    def list_names(self, root: str) -> Iterator[FileNames]:
        if (archives := each_of(root)) is None:
            yield from self._listed(root)
            return
        folder, ending = archives
        for folder_names in self._files_of(folder).list_names(folder):
            if folder_names.folder:  # one that came later
                yield folder_names
                continue
            packed = [name for name in folder_names.names if _is_archive(name, ending)]
            yield FileNames("", [name for name in folder_names.names if name not in packed])
            for name in packed:
                yield from self._names_in(f"{folder}/{name}", _unpacked_name(name))

    def _names_in(self, archive: str, name: str) -> Iterator[FileNames]:
        home = self._home(archive)
        for names in self._files_of(home).list_names(home):
            yield FileNames(f"{name}/{names.folder}".rstrip("/"), names.names)

    def scan_folder(self, path: str) -> Iterator[tuple[str, bool]]:
        archives = each_of(path)
        for name, is_folder in self._scanned(path):
            if archives and not is_folder and _is_archive(name, archives[1]):
                yield _unpacked_name(name), True
            else:
                yield name, is_folder

    def match_files(self, pattern: str) -> list[str]:
        top = f"{pattern.partition(':')[0]}:"
        regex = pattern_regex(pattern)
        found = (
            f"{top}/{each.folder}/{name}".replace("//", "/")
            for each in self.list_names(top)
            for name in each.names
        )
        return [path for path in found if regex.fullmatch(path)]


def _is_archive(name: str, ending: str) -> bool:
    return name.endswith(f".{ending}")


def _unpacked_name(name: str) -> str:
    return name.rpartition(".")[0]

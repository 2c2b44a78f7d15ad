"""Tars of all formats are listed as byte ranges; hostile and damaged ones are rejected."""

import gzip
import io
import lzma
import tarfile

import pytest
from file_bytes import tar_bytes

from beam_pipeline.errors import RecordError
from beam_pipeline.files.archive.members import read_members

NAMES = ["a/1.jpg", "a/1.txt", "empty.bin", "ä日.txt", f"{'long/' * 60}name.jpg"]


def info_of(name, **facts):
    info = tarfile.TarInfo(name)
    for fact, value in facts.items():
        setattr(info, fact, value)
    return info


def tar_of(*members, form=tarfile.GNU_FORMAT):
    """Return the bytes of a tar of members (TarInfo or name, content)."""
    return tar_bytes(members, form)


def content_of(name):
    return b"" if name.startswith("empty") else name.encode() * 100


def listed(data):
    """Return a tar's members, and the reason of the error at its end."""
    members = []
    try:
        members.extend(read_members(io.BytesIO(data)))
    except RecordError as error:
        return members, error.reason
    return members, ""


@pytest.mark.parametrize(
    ("form", "names"),
    [
        pytest.param(tarfile.USTAR_FORMAT, NAMES[:4], id="ustar"),
        pytest.param(tarfile.GNU_FORMAT, NAMES, id="gnu"),
        pytest.param(tarfile.PAX_FORMAT, NAMES, id="pax"),
    ],
)
def test_every_format(form, names):
    data = tar_of(*((name, content_of(name)) for name in names), form=form)
    members, reason = listed(data)
    assert reason == ""
    assert [member.name for member in members] == names
    for member in members:
        found = data[member.offset : member.offset + member.length]
        assert (found, member.problem) == (content_of(member.name), None)


def test_a_size_and_a_name_in_pax_headers():
    """Written for files of 8 GiB or more; other headers come in between."""
    content = b"x" * 1000
    info = info_of("short", pax_headers={"size": "1000", "path": "dir/1.txt", "comment": "c"})
    data = tar_of((info, content), ("2.txt", b"2"), form=tarfile.PAX_FORMAT)
    members, _ = listed(data)
    assert [(member.name, member.length) for member in members] == [
        ("dir/1.txt", 1000),
        ("2.txt", 1),
    ]


def test_folders_are_passed_over_and_names_start_behind_the_dot():
    folder = info_of("./a", type=tarfile.DIRTYPE)
    members, reason = listed(tar_of((folder, b""), ("./a/1.txt", b"1")))
    assert ([member.name for member in members], reason) == (["a/1.txt"], "")


@pytest.mark.parametrize("blocks", [1, 2, 20, 100])
def test_any_padding_at_the_end(blocks):
    data = tar_of(("1.txt", b"1"))[:1024] + bytes(512 * blocks)
    assert listed(data)[1] == ""


LINK = {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}


@pytest.mark.parametrize(
    ("name", "more", "reason", "detail"),
    [
        ("../x.txt", {}, "unsafe path", "'../x.txt' leads out"),
        ("a/../../x.txt", {}, "unsafe path", "leads out"),
        ("a/..", {}, "unsafe path", "leads out"),
        ("a\\..\\..\\x", {}, "unsafe path", "leads out"),
        ("/etc/passwd", {}, "unsafe path", "leads out"),
        ("C:\\x.txt", {}, "unsafe path", "leads out"),
        ("x.txt", LINK, "unsupported member", "not a file"),
        ("x.txt", {**LINK, "type": tarfile.LNKTYPE}, "unsupported member", "not a file"),
        ("x.txt", {"type": tarfile.CHRTYPE}, "unsupported member", "not a file"),
        ("x.txt", {"type": tarfile.FIFOTYPE}, "unsupported member", "not a file"),
        ("x.txt", {"type": b"Z"}, "unsupported member", "not a file"),
        ("\udcff.txt", {}, "not UTF-8", "the name '\\udcff.txt'"),
    ],
)
def test_what_is_not_a_plain_file(name, more, reason, detail):
    member = info_of(name, **more)
    members, end = listed(tar_of(("1.txt", b"1"), (member, b""), ("2.txt", b"2")))
    assert end == ""
    assert [each.problem is None for each in members] == [True, False, True]
    assert members[1].problem[0] == reason
    assert detail in members[1].problem[1]


@pytest.mark.parametrize("name", ["a..b.txt", "..a/x.txt", "a/..b", "c:x.txt", "x/C:/y"])
def test_names_that_only_look_so(name):
    members, _ = listed(tar_of((name, b"1")))
    assert members[0].problem is None


def test_a_sparse_file():
    info = info_of(
        "x.bin",
        pax_headers={
            "GNU.sparse.major": "1",
            "GNU.sparse.minor": "0",
            "GNU.sparse.name": "x.bin",
            "GNU.sparse.realsize": "9999",
        },
    )
    content = b"1\n0\n1\n".ljust(512, b"\0") + b"x"
    members, end = listed(tar_of((info, content), ("2.txt", b"2"), form=tarfile.PAX_FORMAT))
    assert end == ""
    assert [member.problem and member.problem[0] for member in members] == [
        "unsupported member",
        None,
    ]


def changed(data, at, new):
    return data[:at] + new + data[at + len(new) :]


def with_header(data, at, **fields):
    """Replace fields of the header at byte `at`, and correct its checksum."""
    places = {"size": (124, 12), "type": (156, 1)}
    header = bytearray(data[at : at + 512])
    for field, value in fields.items():
        start, length = places[field]
        header[start : start + length] = value.ljust(length, b"\0")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return changed(data, at, bytes(header))


WHOLE = tar_of(("1.txt", b"1" * 600), ("2.txt", b"2" * 600))  # headers at 0 and 1536
NEGATIVE, GREAT = b"\xff" * 11 + b"\x01", b"77777777777"  # sizes; the latter is 8 GiB
# The second member's long name has a header and a block from 1536 on; its own header is at 2560.
LONG = tar_of(("1.txt", b"1" * 600), ("2" * 120 + ".txt", b"2"), form=tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("data", "names", "reason"),
    [
        pytest.param(b"", [], "empty archive", id="no bytes"),
        pytest.param(bytes(10240), [], "empty archive", id="no members"),
        pytest.param(WHOLE[:1000], [], "truncated file", id="cut in the first member"),
        pytest.param(WHOLE[:2100], ["1.txt"], "truncated file", id="cut in the second"),
        pytest.param(WHOLE[:1800], ["1.txt"], "truncated file", id="cut in a header"),
        pytest.param(WHOLE[:1536], ["1.txt"], "truncated file", id="cut between members"),
        pytest.param(WHOLE[:3072], ["1.txt", "2.txt"], "truncated file", id="no end mark"),
        pytest.param(WHOLE[:2700], ["1.txt", "2.txt"], "truncated file", id="no padding"),
        pytest.param(LONG[:2560], ["1.txt"], "truncated file", id="cut behind a long name"),
        pytest.param(LONG[:2600], ["1.txt"], "truncated file", id="cut in the header behind it"),
        pytest.param(b"no tar" * 500, [], "damaged archive", id="something else"),
        pytest.param(changed(WHOLE, 1540, b"\xff"), ["1.txt"], "damaged archive", id="checksum"),
        pytest.param(WHOLE + WHOLE, ["1.txt", "2.txt"], "damaged archive", id="two tars"),
        pytest.param(with_header(WHOLE, 1536, size=NEGATIVE), ["1.txt"], "damaged archive"),
        pytest.param(with_header(WHOLE, 1536, size=GREAT), ["1.txt"], "truncated file"),
        (with_header(WHOLE, 1536, type=b"L", size=GREAT), ["1.txt"], "damaged archive"),  # name
        pytest.param(
            with_header(WHOLE, 1536, type=b"x", size=NEGATIVE), ["1.txt"], "damaged archive"
        ),
        pytest.param(gzip.compress(WHOLE), [], "compressed archive", id="gzip"),
        pytest.param(lzma.compress(WHOLE), [], "compressed archive", id="xz"),
        pytest.param(b"\x28\xb5\x2f\xfd" + WHOLE, [], "compressed archive", id="zstd"),
    ],
)
def test_damaged_tars(data, names, reason):
    members, found = listed(data)
    assert ([member.name for member in members], found) == (names, reason)


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.nightly)])
def test_no_mutation_crashes_or_hangs(step):
    """Any changed byte of a header gives members inside the file, or a RecordError."""
    long = tar_of((NAMES[4], b"1"), ("2.txt", b"22"), form=tarfile.PAX_FORMAT)
    for at in range(0, 3072, step):
        for new in (b"\0", b"\xff", b"9", b"x"):
            data = with_header(changed(long, at, new), at - at % 512)
            for member in listed(data)[0]:
                assert 0 <= member.offset <= member.offset + member.length <= len(data)


def test_the_members_are_not_kept():
    count = 3000
    data = tar_of(*((f"{number}.txt", b"1") for number in range(count)))
    seen = []
    kept = tarfile.TarFile.next

    def watched(archive):
        seen.append(len(archive.members))
        return kept(archive)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tarfile.TarFile, "next", watched)
        assert sum(1 for _ in read_members(io.BytesIO(data))) == count
    assert max(seen) <= 1

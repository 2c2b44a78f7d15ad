import pytest

from beam_pipeline.sources.manifest.first_rows import is_there
from beam_pipeline.sources.manifest.read import ReadCsv
from tfrecord_dataset.store import clients


def test_files_of_later_rows_in_folders_of_other_numbers(tmp_path, read_manifest, by_name):
    for folder in ("images_001", "images_002", "other"):
        (tmp_path / folder).mkdir()
    names = [f"{number:03}" for number in range(150)]
    for name in names:
        folder = "images_001" if name < "120" else "images_002"
        (tmp_path / folder / f"{name}.png").touch()
    (tmp_path / "other" / "x.png").touch()
    (tmp_path / "m.csv").write_text("\n".join(["id,label", *(f"{name},a" for name in names)]))
    records, _ = by_name(read_manifest(ReadCsv(str(tmp_path), names=("m.csv",))))
    assert records.keys() == {f"images_00{1 if name < '120' else 2}/{name}.png" for name in names}
    assert all(each.features["image"].file.path.endswith(key) for key, each in records.items())


def test_a_file_that_is_nowhere_is_missing_in_the_first_folder(tmp_path, read_manifest, by_name):
    (tmp_path / "images").mkdir()
    for number in range(20):
        (tmp_path / "images" / f"{number}.png").touch()
    rows = [f"{number},a" for number in (*range(19), 77)]
    (tmp_path / "m.csv").write_text("\n".join(["id,label", *rows]))
    records, rejects = by_name(read_manifest(ReadCsv(str(tmp_path / "m.csv"))))
    assert "images/77.png" in records  # Inspect rejects it as a missing file
    assert [*rejects] == ["images/19.png"]


def test_a_folder_of_more_files_than_are_listed(tmp_path, read_manifest, by_name):
    (tmp_path / "images").mkdir()
    for number in range(1500):
        (tmp_path / "images" / f"{number}.png").touch()
    rows = [f"{number},{number % 3}" for number in range(1500)]
    (tmp_path / "m.csv").write_text("\n".join(["id,label", *rows]))
    records, rejects = by_name(read_manifest(ReadCsv(str(tmp_path / "m.csv"))))
    assert (len(records), rejects) == (1500, {})


def test_a_store_that_is_out_has_lost_no_file(bucket, monkeypatch):
    monkeypatch.setattr(clients, "LIMIT_S", 0.5)
    url, store = bucket
    store.put(f"{url}/a.jpg", b"1")
    assert [is_there(f"{url}/{name}") for name in ("a.jpg", "b.jpg")] == [True, False]
    store.fail(url, 503)
    with pytest.raises(OSError, match="503"):
        is_there(f"{url}/a.jpg")

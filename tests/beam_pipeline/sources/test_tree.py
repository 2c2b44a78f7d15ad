"""The first look at a tree: bounded, and the same in any order of the listing."""

from beam_pipeline.sources.paths import stem, suffix
from beam_pipeline.sources.tree import Tree

MANY = 1000


def test_of_many_files_a_part_is_kept_and_of_few_all(tmp_path):
    for number in range(MANY):
        (tmp_path / f"{number:06}.jpg").touch()
        (tmp_path / f"{number:06}.txt").touch()
    (tmp_path / "labels.csv").touch()
    (tmp_path / "masks").mkdir()
    tree = Tree(str(tmp_path))
    listing = tree.look()
    assert listing.folders == ("masks",)
    assert "labels.csv" in listing.files
    by_suffix = {
        ending: {stem(name) for name in listing.files if suffix(name) == ending}
        for ending in ("jpg", "txt")
    }
    assert 200 < len(by_suffix["jpg"]) < 600
    assert by_suffix["jpg"] == by_suffix["txt"]
    assert (listing.is_whole, tree.at_least) == (False, "at least ")


def test_a_small_tree_is_looked_at_whole(make_tree):
    tree = Tree(make_tree({"a/1.jpg": "", "b/c/2.jpg": "", "3.txt": ""}))
    assert sorted(tree.files()) == ["3.txt", "a/1.jpg", "b/c/2.jpg"]
    assert (tree.has_all_folders, tree.at_least) == (True, "")


def test_a_remote_level_is_looked_at_with_few_requests(bucket):
    url, store = bucket
    for number in range(1500):
        store.put(f"{url}/images/{number:04}.jpg", b"1")
    store.put(f"{url}/labels.csv", b"1")
    store.forget()
    tree = Tree(url)
    assert (tree.look().folders, tree.look().files) == (("images",), ("labels.csv",))
    assert store.calls["list"] <= 2
    assert 200 < len(tree.look("images").files) < 600

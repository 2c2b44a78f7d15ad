"""Roles of columns, by options, names, or values of the first rows."""

import dataclasses
from pathlib import Path

import pytest

from beam_pipeline.sources.tables.choice import RULES
from beam_pipeline.sources.tables.csv import ReadCsv
from beam_pipeline.sources.tables.json import ReadJsonl
from beam_pipeline.sources.tables.plan import plan_tables

FILES = {f"img/{name}": "" for name in ("1.jpg", "2.jpg", "s.wav")}


def plan_of(make_tree, text, files=FILES, **options):
    root = make_tree({"t.csv": text.replace("|", "\n") + "\n", **files})
    return ReadCsv(f"{root}/t.csv", **options).plan()


# `columns|rows -> role=column …`; the files img/1.jpg, img/2.jpg and img/s.wav exist.
BY_NAME = """
image,label|img/1.jpg,cat -> image=image label=label
Path,Class,SET|img/1.jpg,cat,train -> image=Path label=Class split=SET
file_name,label|img/s.wav,cat -> audio=file_name label=label
image,audio|img/1.jpg,img/s.wav -> image=image audio=audio
scan,x|img/1.jpg,1 -> image=scan
a,b|img/1.jpg,img/2.jpg -> a=a b=b
image,left,right|img/1.jpg,img/2.jpg,img/1.jpg -> image=image left=left right=right
image,x1,y1,x2,y2,width,height,label|img/1.jpg,1,2,3,4,9,9,cat -> image=image boxes=x1,y1,x2,y2 size=width,height class=label
image,x,y,width,height|img/1.jpg,1,2,3,4 -> image=image boxes=x,y,width,height
image,bbox|img/1.jpg,"[1, 2, 3, 4]" -> image=image boxes=bbox
image,EncodedPixels|img/1.jpg,1 2 -> image=image boxes=EncodedPixels
x,y,width,height|7,8,9,9 ->
x,target|7,cat -> label=target
x,target|7,0.5 ->
x,labels|7,a -> label=labels
id,kind|1,cat|2,dog -> image=image label=kind
id,age|1,30|2,40 -> image=image
id,a,b|1,0,1|2,1,1 -> image=image label=a, b
image,caption|img/1.jpg,one|img/1.jpg,two -> image=image captions=caption
""".strip().splitlines()  # noqa: E501


@pytest.mark.parametrize("row", BY_NAME)
def test_roles_by_name_and_values(make_tree, row):
    text, _, expected = row.partition(" ->")
    roles = plan_of(make_tree, text).roles
    found = {media.feature: media.column for media in roles.media} | dict(roles.labels)
    found |= {
        "boxes": ",".join(roles.boxes.corners),
        "size": ",".join(roles.boxes.size or ()),
        "class": roles.boxes.labels,
        "split": roles.split,
        "captions": roles.captions,
    }
    shown = " ".join(f"{role}={column}" for role, column in found.items() if column)
    assert shown == expected.strip()


def test_what_was_understood_is_said(make_tree):
    text = "id,kind,age|1,cat,3|2,dog,4"
    assert plan_of(make_tree, text, label_column="kind").understood == [
        ("paths", "by the names in column 'id' of t.csv"),
        ("image", "column 'image'"),
        ("label", "column 'kind'"),
        ("features", "id, age"),
    ]


PETS = "file,id,kind,sex|1.jpg,p1,cat,f|2.jpg,p2,dog,m|1.jpg,p3,cat,m|2.jpg,p4,dog,f"


@pytest.mark.parametrize(
    ("text", "options", "choices"),
    [
        (PETS, {}, ("kind", "sex", "none")),
        (PETS, {"label_column": "sex"}, None),
        (PETS, {"label_column": "none"}, None),
        (PETS, {"ignore_columns": ["sex"]}, None),
        (PETS.replace("1.jpg", "north").replace("2.jpg", "south"), {}, None),
        (PETS.replace("kind", "caption"), {}, None),
        ("file,age,weight|1.jpg,2000,7|2.jpg,3000,8|1.jpg,2000,7|2.jpg,3000,8", {}, None),
    ],
    ids=["open", "stated", "none", "one is left", "no file", "captions", "amounts"],
)
def test_of_two_columns_that_may_be_the_label_a_user_chooses(make_tree, text, options, choices):
    plan = plan_of(make_tree, text, **options)
    assert (plan.problem.choices if plan.problem else None) == choices
    assert plan.roles.label == ("sex" if options.get("label_column") == "sex" else "")


def test_lists_of_json(make_tree):
    rows = '{"image": "img/1.jpg", "boxes": [[1, 2, 3, 4]], "areas": [5], "v": [1, 2, 3]}\n'
    root = make_tree({"t.jsonl": rows, **FILES})
    roles = ReadJsonl(f"{root}/t.jsonl").plan().roles
    assert (roles.boxes.lists, roles.boxes.per_box) == ("boxes", {"areas"})
    assert roles.forms == {"v": "list"}


@pytest.mark.parametrize("column", ["rooms", "image_id"])
def test_numbers_in_several_rows_are_not_names_of_files(make_tree, column):
    text = f"{column},price|1,100|2,200|2,200|1,100"
    plan = plan_of(make_tree, text, {"s/1.wav": "", "s/2.wav": ""})
    assert bool(plan.roles.media) == (column == "image_id")


def comparisons_of_names(write, count):
    """Plan a table of `count` columns; return how often names of its columns are compared."""

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    names = [f"c{number}" for number in range(count)]
    source = ReadCsv(write("wide.csv", f"{','.join(names)}\n{','.join(map(str, range(count)))}\n"))
    [file] = source.files()
    table = source.opened(file)
    compared = 0
    plan_tables([dataclasses.replace(table, header=tuple(map(Name, table.header)))], source)
    return compared


def test_planning_is_linear_in_the_columns(write):
    assert comparisons_of_names(write, 800) < 5 * comparisons_of_names(write, 200)


def test_the_page_shows_the_rules_in_their_order():
    page = Path(__file__).parents[4].joinpath("docs/from/tables.md").read_text()
    table = page.partition("|---|---|---|---|\n")[2].partition("\n\n")[0]
    shown = [[cell.strip() for cell in row.split("|")[1:4]] for row in table.splitlines()]
    rules = []
    for rule in RULES:
        names = () if callable(rule.names) else rule.names
        few = [f"`{name}`" for name in names[:1]] + ["…"] * (len(names) > 1)
        rules.append([rule.role, ", ".join(few), rule.what])
    assert shown == rules


@pytest.mark.parametrize(
    ("text", "key"),
    [("path,image|x,img/1.jpg", "image"), ("image,path|img/1.jpg,img/2.jpg", "image")],
)
def test_the_first_rule_that_a_column_fits_decides(make_tree, text, key):
    assert plan_of(make_tree, text).roles.key == key

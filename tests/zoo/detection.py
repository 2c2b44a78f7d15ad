"""Images with boxes or masks, and shards."""

import json

from zoo.trees import BOX, XML, DataSet, files, read, refused


def coco(name: str) -> str:
    images = [{"id": 1, "file_name": name}]
    boxes = [{"id": 1, "image_id": 1, "category_id": 18, "bbox": [1, 1, 2, 2]}]
    categories = [{"id": 18, "name": "dog"}]
    return json.dumps(
        {
            "info": {},
            "licenses": [],
            "images": images,
            "annotations": boxes,
            "categories": categories,
        }
    )


def voc(name: str, label: str) -> str:
    return XML.format(name=name, label=label)


LABELME = json.dumps(
    {
        "version": "4.0.0",
        "flags": {},
        "shapes": [
            {"label": "person", "points": [[191, 107], [313, 329]], "shape_type": "rectangle"}
        ],
        "imagePath": "2011_000003.jpg",
        "imageData": None,
        "imageHeight": 338,
        "imageWidth": 500,
    }
)


DETECTION: dict[str, DataSet] = {
    "ILSVRC of Kaggle": read(
        "voc",
        {
            "ILSVRC/Annotations/CLS-LOC/train/n01440764/n01440764_18.xml": voc(
                "n01440764_18", "n01440764"
            ),
            "ILSVRC/Annotations/CLS-LOC/val/ILSVRC2012_val_00000001.xml": voc("v", "n01751748"),
            "LOC_{train_solution,sample_submission}.csv": "ImageId,Prediction\nn0_18,n0 1 2\n",
        }
        | files(
            "ILSVRC/Data/CLS-LOC/train/n01440764/n01440764_18.JPEG",
            "ILSVRC/Data/CLS-LOC/{val/ILSVRC2012_val_00000001,test/ILSVRC2012_test_00000001}.JPEG",
            "ILSVRC/ImageSets/CLS-LOC/{train_cls,train_loc,val,test}.txt",
        ),
        splits="train,val",
        classes="n01440764,n01751748",
    ),
    "Oxford Pets": read(
        "voc",
        files(
            "images/{Abyssinian_1,beagle_1}.jpg", "annotations/trimaps/{Abyssinian_1,beagle_1}.png"
        )
        | files("annotations/{list,trainval,test,README}{.txt,}")
        | {
            "annotations/xmls/Abyssinian_1.xml": voc("Abyssinian_1.jpg", "cat"),
            "annotations/xmls/beagle_1.xml": voc("beagle_1.jpg", "dog"),
        },
        classes="cat,dog",
    ),
    "COCO 2017": read(
        "coco",
        files("{train,val,test}2017/000000000009.jpg")
        | {
            f"annotations/{kind}_{split}2017.json": coco("000000000009.jpg")
            for kind in ("instances", "captions", "person_keypoints")
            for split in ("train", "val")
        },
        splits="train,val",
        classes="dog",
    ),
    "PASCAL VOC 2007": read(
        "voc",
        files("VOCdevkit/VOC2007/JPEGImages/00000{1..3}.jpg")
        | files("VOCdevkit/VOC2007/Segmentation{Class,Object}/000001.png")
        | {
            "VOCdevkit/VOC2007/Annotations/00000{1..3}.xml": voc("x", "dog"),
            "VOCdevkit/VOC2007/ImageSets/Main/{train,dog_train}.txt": "000001  1\n",
            "VOCdevkit/VOC2007/ImageSets/Main/train.txt": "000001\n",
            "VOCdevkit/VOC2007/ImageSets/Main/val.txt": "000002\n",
            "VOCdevkit/VOC2007/ImageSets/Main/trainval.txt": "000001\n000002\n",
            "VOCdevkit/VOC2007/ImageSets/Main/test.txt": "000003\n",
            "VOCdevkit/VOC2007/ImageSets/{Layout,Segmentation}/train.txt": "000001\n",
        },
        splits="train,val,test",
        classes="dog",
    ),
    "PASCAL VOC 2012": read(
        "voc",
        files("VOCdevkit/VOC2012/JPEGImages/2007_0000{27,32}.jpg")
        | {
            "VOCdevkit/VOC2012/Annotations/2007_0000{27,32}.xml": voc("x", "person"),
            "VOCdevkit/VOC2012/ImageSets/Main/train.txt": "2007_000027\n",
            "VOCdevkit/VOC2012/ImageSets/Main/val.txt": "2007_000032\n",
            "VOCdevkit/VOC2012/ImageSets/Main/trainval.txt": "2007_000027\n2007_000032\n",
            "VOCdevkit/VOC2012/ImageSets/Action/{jumping_train,train}.txt": "2007_000027 1 1\n",
        },
        splits="train,val",
        classes="person",
    ),
    "Open Images": refused(
        files("{train,validation,test}/000002b66c9c498e.jpg")
        | {"{train,validation,test}-annotations-bbox.csv": "ImageID,Source\n000002b66c9c498e,x\n"}
        | {"class-descriptions-boxable.csv": "/m/011k07,Tortoise\n"},
        r"are splits without class folders; .* give a table .*class-descriptions-boxable\.csv",
    ),
    "KITTI": read(
        "kitti",
        files(
            "{training,testing}/image_2/00000{0..2}.png",
            "{training,testing}/calib/000000.txt",
            "training/velodyne/000000.bin",
        )
        | {"training/label_2/00000{0..2}.txt": f"Pedestrian{' 1' * 14}\nDontCare{' -1' * 14}\n"},
        splits="training",
        classes="Pedestrian",
    ),
    "LabelMe's example of boxes": read(
        "labelme",
        files("examples/bbox_detection/data_annotated/2011_00000{3,6}.jpg")
        | {"examples/bbox_detection/data_annotated/2011_00000{3,6}.json": LABELME}
        | files("examples/bbox_detection/{labels.txt,labelme2voc.py}"),
        classes="person",
    ),
    "WIDER FACE": refused(
        files("WIDER_{train,val,test}/images/{0--Parade,9--Press_Conference}/0_Parade_1.jpg")
        | files("wider_face_split/wider_face_{train,val}_bbx_gt.txt"),
        "WIDER_test/, WIDER_train/, WIDER_val/ are called after splits",
    ),
    "BCCD": read(
        "voc",
        files("BCCD_Dataset-master/BCCD/JPEGImages/BloodImage_0000{0..2}.jpg")
        | files("BCCD_Dataset-master/{README.md,example.jpg,plot.py}")
        | {
            "BCCD_Dataset-master/test.csv": "filename,cell_type\nBloodImage_00001.jpg,WBC\n",
            "BCCD_Dataset-master/BCCD/Annotations/BloodImage_0000{0..2}.xml": voc("x.jpg", "RBC"),
            "BCCD_Dataset-master/BCCD/ImageSets/Main/train.txt": "BloodImage_00000\n",
            "BCCD_Dataset-master/BCCD/ImageSets/Main/val.txt": "BloodImage_00001\n",
            "BCCD_Dataset-master/BCCD/ImageSets/Main/test.txt": "BloodImage_00002\n",
            "BCCD_Dataset-master/BCCD/ImageSets/Main/trainval.txt": "BloodImage_00000\n",
        },
        splits="train,val,test",
        classes="RBC",
    ),
    "COCO of Roboflow": read(
        "coco",
        files("{train,valid,test}/a_jpg.rf.1.jpg", "README.{dataset,roboflow}.txt")
        | {"{train,valid,test}/_annotations.coco.json": coco("a_jpg.rf.1.jpg")},
        splits="train,valid,test",
        classes="dog",
    ),
    "VOC of Roboflow": read(
        "voc",
        files("{train,valid,test}/a_jpg.rf.1.jpg", "README.{dataset,roboflow}.txt")
        | {"{train,valid,test}/a_jpg.rf.1.xml": voc("a_jpg.rf.1.jpg", "dog")},
        splits="train,valid,test",
        classes="dog",
    ),
    "YOLO of Roboflow": read(
        "yolo",
        files("{train,valid,test}/images/a_jpg.rf.1.jpg", "README.{dataset,roboflow}.txt")
        | {
            "{train,valid,test}/labels/a_jpg.rf.1.txt": BOX.format(number=0),
            "data.yaml": "train: ../train/images\nval: ../valid/images\ntest: ../test/images\n\n"
            "nc: 2\nnames: ['cat', 'dog']\n",
        },
        splits="train,val,test",
        classes="cat,dog",
    ),
    "COCO128 of Ultralytics": read(
        "yolo",
        files("coco128/images/train2017/000000000009.jpg", "coco128/{LICENSE,README.txt}")
        | {"coco128/labels/train2017/000000000009.txt": BOX.format(number=45)},
        splits="train2017",
        classes="45",
        inside="coco128",
    ),
    "COCO of Ultralytics": read(
        "yolo",
        files("coco/images/{train,val}2017/000000000009.jpg")
        | {
            "coco/labels/{train,val}2017/000000000009.txt": BOX.format(number=45),
            "coco/train2017.txt": "./images/train2017/000000000009.jpg\n",
            "coco/val2017.txt": "./images/val2017/000000000009.jpg\n",
            "coco/test-dev2017.txt": "./images/test2017/000000000001.jpg\n",
        },
        splits="train2017,val2017",
        classes="45",
        inside="coco",
    ),
    "LabelImg": read(
        "yolo",
        files("images/{a,b}.jpg")
        | {"labels/{a,b}.txt": BOX.format(number=0), "labels/classes.txt": "cat\n"},
        classes="cat",
    ),
    "YOLO of CVAT": read(
        "yolo",
        files("obj_train_data/{a,b}.jpg")
        | {
            "obj_train_data/{a,b}.txt": BOX.format(number=0),
            "obj.data": "classes = 1\ntrain = data/train.txt\nnames = data/obj.names\n",
            "obj.names": "cat\n",
            "train.txt": "data/obj_train_data/a.jpg\ndata/obj_train_data/b.jpg\n",
        },
        splits="train",
        classes="cat",
    ),
    "COCO of CVAT": read(
        "coco",
        files("images/a.jpg") | {"annotations/instances_default.json": coco("a.jpg")},
        classes="dog",
    ),
    "CVAT for images": refused(
        files("images/a.jpg")
        | {"annotations.xml": '<?xml version="1.0"?>\n<annotations>\n</annotations>'},
        "CVAT's own, .* export it from CVAT as COCO",
    ),
    "COCO of FiftyOne": read(
        "coco", files("data/a.jpg") | {"labels.json": coco("a.jpg")}, classes="dog"
    ),
    "Cityscapes": refused(
        files(
            "leftImg8bit/{train/aachen,val/lindau,test/berlin}/x_000000_000019_leftImg8bit.png",
            "gtFine/{train/aachen,val/lindau,test/berlin}/x_000000_000019_gtFine_labelIds.png",
        )
        | {"gtFine/train/aachen/x_gtFine_polygons.json": '{"imgHeight": 1024, "objects": []}'},
        r"gtFine/, leftImg8bit/ hold folders and no files",
    ),
    "Cityscapes' images": refused(
        files("leftImg8bit/{train/aachen,val/lindau,test/berlin}/x_000000_000019_leftImg8bit.png"),
        r"test/ and train/ have no class in common \(berlin/ against aachen/\)",
    ),
    "ADE20K": refused(
        files("ADEChallengeData2016/images/{training,validation}/ADE_00000001.jpg")
        | files("ADEChallengeData2016/annotations/{training,validation}/ADE_00000001.png")
        | files("ADEChallengeData2016/{objectInfo150,sceneCategories}.txt"),
        "images/ is no class by its name; give .*/ADEChallengeData2016/images alone",
    ),
    "shards of WebDataset": read("tar", files("imagenet-{train,val}-00000{0..2}.tar")),
    "arrays of Keras": read("arrays", files("mnist.npz")),
    "tables of Kaggle's digits": refused(
        {"{train,test,sample_submission}.csv": "label,pixel0\n1,0\n"},
        "3 ways: .* or move sample_submission.csv elsewhere to read test.csv and train.csv",
    ),
}

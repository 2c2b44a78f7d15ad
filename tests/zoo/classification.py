"""Images and audio of one class each."""

from zoo.trees import DataSet, files, read, refused

CLASSIFICATION: dict[str, DataSet] = {
    "ImageNet in class folders": read(
        "folders",
        files(
            "train/{n01440764,n01443537}/n0_{1..2}.JPEG",
            "val/{n01440764,n01443537}/ILSVRC2012_val_00000293.JPEG",
        ),
        splits="train,val",
        classes="n01440764,n01443537",
    ),
    "Imagenette": refused(
        files("imagenette2/{train,val}/{n01440764,n02102040}/n0_1.JPEG")
        | {"imagenette2/noisy_imagenette.csv": "path,noisy\ntrain/n01440764/n0_1.JPEG,n"},
        r"2 ways: csv: noisy_imagenette\.csv; folders: 2 class folders .* in train, val; ",
    ),
    "CIFAR-10 of Python": refused(
        files("cifar-10-batches-py/{data_batch_1,test_batch,batches.meta,readme.html}"),
        "cannot tell the layout .* a source of your own",
    ),
    "CIFAR-10 as PNG": read(
        "folders",
        files("cifar10/{train,test}/{airplane,truck}/0001.png", "cifar10/labels.txt"),
        splits="train,test",
        classes="airplane,truck",
        inside="cifar10",
    ),
    "CIFAR-100 as PNG, coarse and fine": refused(
        files(
            "cifar100/{train,test}/aquatic_mammals/{beaver,whale}/1.png",
            "cifar100/{train,test}/vehicles_1/{bus,train}/1.png",
        ),
        r"mammals/, vehicles_1/ hold folders and no files; .*'\{split\}/\{_\}/\{label\}/\{_\}'",
    ),
    "CIFAR-100 of Kaggle": read(
        "folders",
        files("CIFAR100/{TRAIN,TEST}/{apple,train,whale}/1.png"),
        splits="TRAIN,TEST",
        classes="apple,train,whale",
        inside="CIFAR100",
    ),
    "CUB-200": refused(
        files(
            "CUB_200_2011/images/{001.Black_footed_Albatross,002.Laysan_Albatross}/B_0001_796111.jpg",
            "CUB_200_2011/{classes,images,train_test_split,image_class_labels}.txt",
            "CUB_200_2011/{parts/parts,attributes/certainties}.txt",
            "attributes.txt",
        )
        | {"CUB_200_2011/bounding_boxes.txt": "1 60.0 27.0 325.0 304.0\n"},
        r"images/ is no class by its name; give .*/CUB_200_2011/images alone",
    ),
    "Stanford Dogs": refused(
        files("Images/{n02085620-Chihuahua,n02085782-Japanese}/n0_7.jpg", "lists/train_list.mat")
        | {"Annotation/{n02085620-Chihuahua,n02085782-Japanese}/n0_7": "<annotation></annotation>"},
        "Images/ is no class by its name; give .*/Images alone",
    ),
    "Flowers102": read(
        "folders", files("jpg/image_0000{1..3}.jpg", "{imagelabels,setid}.mat"), inside="jpg"
    ),
    "Food-101": refused(
        files(
            "food-101/images/{apple_pie,waffles}/1005649.jpg",
            "food-101/meta/{classes,labels,train,test}.txt",
            "food-101/{README,license_agreement}.txt",
        )
        | {"food-101/meta/{train,test}.json": '{"churros": ["churros/1004234"]}'},
        "images/ is no class by its name; give .*/food-101/images alone",
    ),
    "Caltech-101": read(
        "folders",
        files("101_ObjectCategories/{BACKGROUND_Google,accordion,airplanes}/image_0001.jpg"),
        classes="BACKGROUND_Google,accordion,airplanes",
        inside="101_ObjectCategories",
    ),
    "Caltech-101, not unpacked": refused(
        files("caltech-101/101_ObjectCategories.tar.gz", "caltech-101/show_annotation.m"),
        r"101_ObjectCategories\.tar\.gz: no byte range",
    ),
    "cats and dogs of Kaggle": refused(
        files(
            "training_set/training_set/{cats/cat.1,dogs/dog.1}.jpg",
            "test_set/test_set/{cats/cat.4001,dogs/dog.4001}.jpg",
        ),
        r"test_set/, training_set/ .*--path-pattern '\{_\}/\{split\}/\{label\}/\{_\}'",
    ),
    "Dogs vs. Cats": refused(
        files("train/{cat,dog}.0.jpg", "test1/{1..2}.jpg")
        | {"sampleSubmission.csv": "id,label\n1,0\n"},
        "train/ are splits, but test1/ not: move the others elsewhere",
    ),
    "chest X-ray": refused(
        files(
            "chest_xray/{train,test,val}/{NORMAL,PNEUMONIA}/1.jpeg",
            "chest_xray/chest_xray/{train,test,val}/{NORMAL,PNEUMONIA}/1.jpeg",
            "chest_xray/__MACOSX/chest_xray/{train,test,val}/{NORMAL,PNEUMONIA}/._1.jpeg",
        ),
        "test/, train/, val/ are splits, but chest_xray/ not: .*/chest_xray/chest_xray alone",
    ),
    "Intel image classification": refused(
        files(
            "seg_{train,test}/seg_{train,test}/{buildings,forest}/1.jpg",
            "seg_pred/seg_pred/{3,5}.jpg",
        ),
        r"seg_test/, seg_train/ are called after splits, .* move the files to <split>/<class>/",
    ),
    "fruits-360": read(
        "folders",
        files(
            "fruits-360_100x100/fruits-360/{Training,Test}/{Apple 5,Banana 1}/r0_0_100.jpg",
            "fruits-360_100x100/fruits-360/{LICENSE,readme.md}",
        ),
        splits="Training,Test",
        classes="Apple 5,Banana 1",
        inside="fruits-360_100x100/fruits-360",
    ),
    "fruits-360 with photographs of several": refused(
        files(
            "fruits-360/{Training,Test}/{Apple Braeburn,Banana}/0_100.jpg",
            "fruits-360/test-multiple_fruits/apple.jpg",
        ),
        "Test/, Training/ are splits, but test-multiple_fruits/ not",
    ),
    "Tiny ImageNet": refused(
        files(
            "tiny-imagenet-200/train/{n01443537,n01629819}/images/n0_0.JPEG",
            "tiny-imagenet-200/train/{n01443537,n01629819}/n0_boxes.txt",
            "tiny-imagenet-200/{val,test}/images/0.JPEG",
            "tiny-imagenet-200/val/val_annotations.txt",
            "tiny-imagenet-200/{wnids,words}.txt",
        ),
        "test/images/ is no class by its name",
    ),
    "CycleGAN's horse2zebra": refused(
        files("horse2zebra/{trainA,trainB,testA,testB}/n02381460_2.jpg"),
        "testA/, testB/, trainA/, … are called after splits",
    ),
    "EuroSAT": read(
        "folders",
        files("EuroSAT/2750/{AnnualCrop,River}/a_1.jpg"),
        classes="AnnualCrop,River",
        inside="EuroSAT/2750",
    ),
    "PlantVillage": refused(
        files(
            "PlantVillage/{Potato___healthy,Tomato_healthy}/1.JPG",
            "PlantVillage/PlantVillage/{Potato___healthy,Tomato_healthy}/1.JPG",
        ),
        "PlantVillage/ holds Potato___healthy/, .*/PlantVillage/PlantVillage alone, or move it",
    ),
    "PlantVillage in colours": refused(
        files(
            "plantvillage dataset/{color,grayscale,segmented}/{Apple___rust,Corn___healthy}/1.JPG"
        ),
        r"color/, grayscale/, segmented/ hold folders and no files; .*'\{_\}/\{label\}/\{_\}'",
    ),
    "malaria": refused(
        files(
            "cell_images/{Parasitized,Uninfected}/1.png",
            "cell_images/cell_images/{Parasitized,Uninfected}/1.png",
        ),
        "give .*/cell_images/cell_images alone",
    ),
    "HAM10000": refused(
        files("HAM10000_images_part_{1..2}/ISIC_0024306.jpg")
        | {"HAM10000_metadata.csv": "lesion_id,image_id,dx\nHAM_0000118,ISIC_0027419,bkl\n"},
        r"HAM10000_images_part_1/ is no class .* give a table .*HAM10000_metadata\.csv",
    ),
    "CelebA of Kaggle": refused(
        files("img_align_celeba/img_align_celeba/00000{1..2}.jpg")
        | {"list_{attr,bbox,eval_partition,landmarks_align}_celeba.csv": "id,x\n000001.jpg,1\n"},
        r"4 ways: .*; give one of them",
    ),
    "CelebA's images": read(
        "folders",
        files("img_align_celeba/00000{1..3}.jpg", "list_attr_celeba.txt"),
        inside="img_align_celeba",
    ),
    "LFW": read(
        "folders",
        files("lfw/{Aaron_Eckhart,Zico}/x_0001.jpg"),
        classes="Aaron_Eckhart,Zico",
        inside="lfw",
    ),
    "MNIST as PNG": read(
        "folders",
        files("mnist_png/{training,testing}/{0..9}/1.png"),
        splits="training,testing",
        classes="0,1,2,3,4,5,6,7,8,9",
        inside="mnist_png",
    ),
    "MNIST's own files": refused(
        files("{train,t10k}-{images-idx3,labels-idx1}-ubyte.gz"), "cannot tell the layout"
    ),
    "Stanford Cars": refused(
        files("cars_{train,test}/cars_{train,test}/00001.jpg", "car_devkit/devkit/cars_meta.mat"),
        "cars_test/, cars_train/ are called after splits",
    ),
    "DTD": refused(
        files("dtd/images/{banded,waffled}/b_0002.jpg", "dtd/imdb/imdb.mat")
        | {"dtd/labels/{train1,val1,test1}.txt": "banded/banded_0002.jpg\n"},
        "images/ is no class by its name; give .*/dtd/images alone",
    ),
    "SVHN": refused(
        files("{train,test}/{1..2}.png", "{train,test}/digitStruct.mat"),
        "test/, train/ are splits without class folders",
    ),
    "MVTec's bottle": refused(
        files(
            "bottle/train/good/000.png",
            "bottle/test/{good,broken_large}/000.png",
            "bottle/ground_truth/broken_large/000_mask.png",
        ),
        "test/, train/ are splits, but ground_truth/ not",
    ),
    "Places365": read(
        "folders",
        files("places365_standard/{train,val}/{airfield,train_station-platform}/1.jpg")
        | files("places365_standard/{train,val}.txt"),
        splits="train,val",
        classes="airfield,train_station-platform",
        inside="places365_standard",
    ),
    "CycleGAN-like folders": refused(
        files("images/1.png", "mask/1.png"), "images/ is no class by its name; give .*/images alone"
    ),
}

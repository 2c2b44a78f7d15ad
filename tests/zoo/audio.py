"""Audio."""

from zoo.trees import DataSet, files, read, refused

AUDIO: dict[str, DataSet] = {
    "Speech Commands": read(
        "folders",
        files(
            "{_background_noise_/white_noise,bed/0a_nohash_0,yes/0b_nohash_0}.wav",
            "{LICENSE,README.md}",
        )
        | files("{validation,testing}_list.txt"),
        classes="_background_noise_,bed,yes",
    ),
    "ESC-50": refused(
        files("ESC-50-master/audio/1-10003{1..4}-A-0.wav", "ESC-50-master/{esc50.gif,README.md}")
        | {"ESC-50-master/meta/esc50.csv": "filename,fold,target\n1-100032-A-0.wav,1,0\n"},
        r"audio/ is no class .*give .*/audio alone.* give a table .*/meta/esc50\.csv",
    ),
    "UrbanSound8K": refused(
        files(
            "UrbanSound8K/audio/fold{1..10}/101415-3-0-2.wav", "UrbanSound8K/FREESOUNDCREDITS.txt"
        )
        | {"UrbanSound8K/metadata/UrbanSound8K.csv": "slice_file_name,fold\n100032-3-0-0.wav,5\n"},
        r"audio/ is no class .* give a table .*/metadata/UrbanSound8K\.csv",
    ),
    "LibriSpeech": refused(
        files(
            "LibriSpeech/{dev-clean,test-clean,train-clean-100}/84/121123/84-121123-000{0..1}.flac",
            "LibriSpeech/dev-clean/84/121123/84-121123.trans.txt",
            "LibriSpeech/{SPEAKERS,README}.TXT",
        ),
        r"dev-clean/, test-clean/, train-clean-100/ are called after splits",
    ),
    "one part of LibriSpeech": refused(
        files(
            "LibriSpeech/dev-clean/{84,174}/121123/84-121123-0000.flac", "LibriSpeech/README.TXT"
        ),
        r"174/, 84/ hold folders and no files; .*'\{label\}/\*\*/\{_\}'",
    ),
    "Common Voice": refused(
        files("cv-corpus-17.0/en/clips/common_voice_en_{1..2}.mp3")
        | {
            f"cv-corpus-17.0/en/{name}.tsv": "client_id\tpath\nx\tcommon_voice_en_1.mp3\n"
            for name in ("train", "dev", "test", "validated", "invalidated", "other")
        },
        "6 ways: .* move invalidated.tsv, other.tsv, validated.tsv elsewhere to read dev.tsv and",
    ),
    "FSDD": refused(
        files(
            "fsdd/recordings/{0_jackson_0,7_theo_3}.wav",
            "fsdd/{metadata.py,README.md}",
            "fsdd/utils/a.py",
        ),
        "recordings/ is no class by its name; give .*/fsdd/recordings alone",
    ),
    "FSDD's recordings": read(
        "folders", files("recordings/{0_jackson_0,7_theo_3}.wav"), inside="recordings"
    ),
    "GTZAN of Kaggle": refused(
        files(
            "Data/genres_original/{blues/b,rock/r}.00000.wav",
            "Data/images_original/{blues/b,rock/r}.png",
        )
        | {"Data/features_{3,30}_sec.csv": "filename,length\nblues.00000.wav,661794\n"},
        r"2 ways: csv: features_30_sec\.csv; csv: features_3_sec\.csv; give one of them",
    ),
    "GTZAN": read(
        "folders",
        files("genres/{blues/b,rock/r}.00000.au", "genres/{bextract_wekafile.mf}"),
        classes="blues,rock",
        inside="genres",
    ),
    "VoxCeleb": refused(
        files("wav/{id10001,id10002}/1zcIwhmdeo4/00001.wav"),
        r"id10001/, id10002/ hold folders and no files; .*'\{label\}/\*\*/\{_\}'",
    ),
    "RAVDESS of Kaggle": refused(
        files(
            "Actor_0{1..2}/03-01-01-01-01-01-01.wav",
            "audio_speech_actors_01-24/Actor_0{1..2}/03-01-01-01-01-01-01.wav",
        ),
        "audio_speech_actors_01-24/ holds Actor_01/, .*give .*/audio_speech_actors_01-24 alone",
    ),
}

#!/usr/bin/env bash
# Raw images to TFRecords to a model on two replicas: every command is shown as it runs.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${DEMO_DIR:-demo}
data=examples/data

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '\n$ %s\n' "$*"; "$@"; }

say "1. Blood smears with boxes (Pascal VOC) become TFRecords"
run beam-tfrecords build "$data/blood" --output "$out/data" --overwrite --num-shards train=4,val=1,test=1

say "2. Single cells, a folder a class, become TFRecords"
run beam-tfrecords build "$data/cells" --output "$out/data" --overwrite \
  --split train=0.7,validation=0.15,test=0.15 --num-shards train=4,validation=1,test=1

say "3. Both are read back and checked; images are drawn with their boxes"
run beam-tfrecords verify "$out/data/blood/1.0.0"
run beam-tfrecords verify "$out/data/cells/1.0.0"
run beam-tfrecords show "$out/data/blood/1.0.0" --split test --limit 10 --images "$out/images" >"$out/records.txt"

say "4. A classifier trains on two replicas"
run beam-tfrecords-train train --data "$out/data/cells" --output "$out/run" --overwrite \
  --devices cpu:2 --epochs 8 --batch-size 32 --seed 0
run beam-tfrecords-train evaluate --data "$out/data/cells" --run "$out/run" --split test | tee "$out/test.json"

say "Done"
python - "$out" <<'PYTHON'
import csv, json, pathlib, sys

out = pathlib.Path(sys.argv[1])
history = list(csv.DictReader((out / "run/history.csv").open()))
losses = " → ".join(f"{float(row['loss']):.3f}" for row in history)
test = json.loads((out / "test.json").read_text().splitlines()[-1])
print(f"""datasets          {out}/data/blood/1.0.0  {out}/data/cells/1.0.0
images drawn    {out}/images
records as text   {out}/records.txt
loss              {losses}
test accuracy     {test['accuracy']:.1%}
try next          tensorboard --logdir {out}/run
                  beam-tfrecords build YOUR_IMAGES --output data
                  beam-tfrecords-train train --data data --output runs/first""")
PYTHON

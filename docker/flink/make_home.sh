#!/usr/bin/env bash
# make_home.sh VERSION: Flink VERSION (1.19.3) in the cache, made of its packages on PyPI, for a
# cluster on this machine. Prints the folder.
#
# apache-flink-libraries has the jars, apache-flink the scripts; of the jars only those stay that
# a job of Beam's needs. If the job server of `make_jar.sh` is there, Beam's classes are added to
# Flink's own (split_jar.py). PYTHON names the interpreter whose pip downloads.
set -euo pipefail
version=$1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/beam-tfrecords
home=$cache/flink-$version
python=${PYTHON:-python3}
if [ ! -e "$home" ]; then
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/.flink-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  # Of its wheel only the scripts are taken, which are the same for every Python.
  "$python" -m pip download --quiet --no-deps --dest "$work" \
    --only-binary :all: --python-version 3.11 "apache-flink==$version"
  "$python" -m pip download --quiet --no-deps --dest "$work" "apache-flink-libraries==$version"
  "$python" - "$work" <<'PYTHON'
import pathlib, shutil, sys, tarfile, zipfile

work = pathlib.Path(sys.argv[1])
for package in [*work.glob("*.whl"), *work.glob("*.tar.gz")]:
    opener = zipfile.ZipFile if package.suffix == ".whl" else tarfile.open
    opener(package).extractall(work / "unpacked" / package.name)
home = work / "home"
home.mkdir()
wanted = {"lib": "flink-dist-*.jar", "bin": "config.sh", "conf": "*.yaml", "plugins": "README.txt"}
for folder, sign in wanted.items():
    found = [
        path.parent for path in (work / "unpacked").rglob(sign) if path.parent.name == folder
    ]
    shutil.copytree(found[0], home / folder)
for jar in (work / "unpacked").rglob("bash-java-utils.jar"):
    shutil.copy(jar, home / "bin")
for name in ("table", "scala", "cep", "csv", "json", "connector-files"):
    for jar in (home / "lib").glob(f"flink-{name}*"):
        jar.unlink()
(home / "log").mkdir()
for script in (home / "bin").iterdir():
    script.chmod(0o755)
PYTHON
  mv "$work/home" "$home"  # whole or not at all
fi
job_server=$cache/flink-job-server-${version%.*}.jar
beam=$home/lib/beam.jar
submit=$cache/flink-submit-${version%.*}.jar
if [ -e "$job_server" ] && ! [ -e "$beam" -a -e "$submit" ]; then
  "$python" "$(dirname "$0")/split_jar.py" "$job_server" "$beam.partial" "$submit"
  mv "$beam.partial" "$beam"  # whole or not at all
fi
echo "$home"

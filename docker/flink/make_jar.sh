#!/usr/bin/env bash
# make_jar.sh VERSION: Beam's job server for Flink VERSION (1.19) as one jar in the cache, where
# `--runner=FlinkRunner` finds it. BEAM is the version of Beam's runner, if not the pom's. Needs
# Maven and Java; 2 minutes the first time.
set -euo pipefail
flink=$1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/beam-tfrecords
jar=$cache/flink-job-server-$flink.jar
if [ ! -e "$jar" ]; then
  mkdir -p "$cache"
  out=$(mktemp -d "$cache/.jar-XXXXXX")
  trap 'rm -rf "$out"' EXIT
  mvn --batch-mode --quiet --file "$(dirname "$0")/pom.xml" -Dflink="$flink" -Dout="$out" \
    ${BEAM:+-Dbeam="$BEAM"} package || {
    echo "no job server for Flink $flink: choose a version of Beam whose beam-runners-flink-$flink is in" \
      "the Maven repository (BEAM=2.70.0), or give your own jar to build: --flink_job_server_jar" >&2
    exit 1
  }
  mv "$out/flink-job-server-$flink.jar" "$jar"  # whole or not at all
fi
echo "$jar"

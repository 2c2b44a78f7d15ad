#!/usr/bin/env bash
# make_jar.sh: Beam's job server for Spark 3 as one jar in the cache, where `--runner=SparkRunner`
# finds it. Needs Maven and Java 17.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/beam-tfrecords
jar=$cache/spark-job-server.jar
if [ ! -e "$jar" ]; then
  mkdir -p "$cache"
  out=$(mktemp -d "$cache/.jar-XXXXXX")
  trap 'rm -rf "$out"' EXIT
  mvn --batch-mode --quiet --file "$(dirname "$0")/pom.xml" -Dout="$out" package
  mv "$out/spark-job-server.jar" "$jar"  # whole or not at all
fi
echo "$jar"

# Beam's job server for Flink, of the same packages as `make flink-jar`; and Flink with Beam's
# classes in its lib, so that a TaskManager keeps Python's workers from stage to stage.
#
#   docker build -f docker/flink/job-server.Dockerfile -t beam-tfrecords-flink-job-server .
#   docker build -f docker/flink/job-server.Dockerfile --target flink -t beam-tfrecords-flink .
#   docker run -p 8097-8099:8097-8099 beam-tfrecords-flink-job-server --flink-master=HOST:8081
#
# MAVEN is any image with Maven and Java 17, BASE any with Java 17, PYTHON any with Python. FLINK is
# the version of CLUSTER.
ARG CLUSTER=flink:1.19.3-java17
ARG PYTHON=python:3.11-slim
ARG MAVEN=maven:3.9-eclipse-temurin-17
ARG BASE=eclipse-temurin:17-jre

FROM ${MAVEN} AS build
ARG FLINK=1.19
WORKDIR /build
COPY docker/flink/pom.xml ./
RUN --mount=type=cache,target=/root/.m2 \
    mvn --batch-mode --quiet -Dflink="${FLINK}" -Dout=/build/out package \
    && mv "out/flink-job-server-${FLINK}.jar" job-server.jar

FROM ${PYTHON} AS split
WORKDIR /split
COPY docker/flink/split_jar.py ./
COPY --from=build /build/job-server.jar ./
RUN python3 split_jar.py job-server.jar beam.jar submit.jar

FROM ${CLUSTER} AS flink
COPY --from=split /split/beam.jar /opt/flink/lib/

FROM ${BASE}
COPY --from=build /build/job-server.jar /opt/beam-tfrecords/job-server.jar
ENTRYPOINT ["java", "-XX:+UseSerialGC", "-jar", "/opt/beam-tfrecords/job-server.jar"]

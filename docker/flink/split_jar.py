"""Split Beam's job server for Flink into what a cluster has and what each job brings.

    python split_jar.py JOB_SERVER_JAR BEAM_JAR SUBMIT_JAR

BEAM_JAR belongs into the lib of all machines of a cluster. Then a job uploads kilobytes instead of
160 MB, and a TaskManager keeps Python's workers from stage to stage. `beam_pipeline` uploads
SUBMIT_JAR with each job: these classes look for the job next to themselves.
"""

import sys
import zipfile

_OF_A_JOB = (
    "org/apache/beam/runners/flink/FlinkPipelineRunner",
    "org/apache/beam/runners/flink/FlinkPortableRunnerResult",
    "org/apache/beam/runners/jobsubmission/PortablePipelineJarUtils",
)
# Flink's own with its version, and what would choose another program for its logs.
_LEFT_OUT = (
    *("org/apache/flink/", ".flink-", "flink-", "org/slf4j/", "org/apache/logging/", "log4j"),
    *("META-INF/services/org.apache.flink", "META-INF/services/org.slf4j"),
)

job_server, *parts = sys.argv[1:]
with zipfile.ZipFile(job_server) as whole:
    beam, submit = (
        zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) for part in parts
    )
    with beam, submit:
        for member in whole.infolist():
            if member.filename.startswith(_OF_A_JOB):
                submit.writestr(member, whole.read(member))
            elif not member.filename.startswith(_LEFT_OUT):
                beam.writestr(member, whole.read(member), compresslevel=1)

"""Table of the private parts of Beam and Python that this package uses (`PrivatePart`)."""

from tfrecord_dataset.private_parts import PrivatePart

_RUNNERS = "apache_beam.runners"
_LOCAL = f"{_RUNNERS}.portability.fn_api_runner"

PRIVATE_PARTS = (
    # The runner on this machine.
    PrivatePart(
        _LOCAL,
        "FnApiRunner",
        "runs builds on this machine",
        "builds fail; DirectRunner instead tries Prism first, which it downloads",
    ),
    PrivatePart(
        f"{_LOCAL}.worker_handlers",
        "DATA_BUFFER_TIME_LIMIT_MS",
        "set to 0, there is no timer thread that races with the writer's buffer",
        "records are lost, and builds end with CountMismatchError",
    ),
    PrivatePart(
        f"{_LOCAL}.worker_handlers",
        "STATE_CACHE_SIZE_MB",
        "set to 0, Beam does not walk through side inputs to know their size",
        "builds of thousands of columns take a fifth longer",
    ),
    PrivatePart(
        "apache_beam.pipeline",
        "is_in_ipython",
        "in a notebook, Beam labels stages by cells, which needs its interactive runner",
        "builds in notebooks fail",
    ),
    PrivatePart(
        "apache_beam.utils.interactive_utils",
        "is_in_ipython",
        "in a notebook, Beam registers pipelines at its interactive runner",
        "builds in notebooks leave temporary files",
    ),
    # Options and settings.
    PrivatePart(
        "apache_beam.options.pipeline_options",
        "PipelineOptions._add_argparse_args",
        "Beam's own way for groups of options to declare theirs",
        "Beam's options are unknown on the command line",
    ),
    PrivatePart(
        "argparse",
        "ArgumentParser()._option_string_actions",
        "names of Beam's options, to tell theirs from ours",
        "Beam's options are unknown on the command line",
    ),
    PrivatePart(
        "apache_beam.options.value_provider",
        "RuntimeValueProvider.get_value",
        "a worker's pipeline options, of which some are settings of stores",
        "workers on clusters cannot open s3:// and azure:// files",
    ),
    # Clusters.
    PrivatePart(
        "apache_beam.options.pipeline_options_validator",
        "PipelineOptionsValidator",
        "Dataflow's checks of options, before any file is read",
        "wrong options fail after the input was listed",
    ),
    PrivatePart(
        f"{_RUNNERS}.dataflow.dataflow_runner",
        "DataflowRunner.get_default_gcp_region",
        "the region of gcloud's settings if --region is left out",
        "--region must be given",
    ),
    PrivatePart(
        "apache_beam.internal.gcp.auth",
        "get_service_credentials",
        "credentials of Google Cloud as Beam finds them",
        "Dataflow's jobs cannot be followed",
    ),
    PrivatePart(
        "apache_beam.utils.subprocess_server",
        "JavaJarServer.path_to_beam_jar",
        "URL of Beam's job server for Flink, which the job sends",
        "the job server must be made with `make flink-jar`",
    ),
    PrivatePart(
        f"{_RUNNERS}.worker.sdk_worker_main",
        "main",
        "runs a worker process that a cluster asks for",
        "--environment_type=PROCESS fails",
    ),
    PrivatePart(
        f"{_RUNNERS}.worker.data_plane",
        "_DEFAULT_SIZE_FLUSH_THRESHOLD",
        "a worker joins what it sends into messages of this size",
        "jobs of millions of rows need 1 GB of heap per slot of a TaskManager",
    ),
    PrivatePart(
        f"{_RUNNERS}.worker.data_plane",
        "_DEFAULT_SEND_QUEUE_MAX_BYTES",
        "a worker's output of a stage may be larger than the runner takes meanwhile",
        "jobs of millions of rows on one slot hang",
    ),
    PrivatePart(
        f"{_RUNNERS}.worker.data_plane",
        "SizeBasedBufferingClosableOutputStream",
        "holds a stage's output until a message of this size is full",
        "jobs of millions of rows need 1 GB of heap per slot of a TaskManager",
    ),
    PrivatePart(
        f"{_RUNNERS}.worker.worker_id_interceptor",
        "WorkerIdInterceptor",
        "a worker's requests to its runner contain its id",
        "--environment_type=PROCESS fails",
    ),
    PrivatePart(
        "apache_beam.portability.api",
        "beam_provision_api_pb2.ProvisionInfo",
        "what a runner tells a worker process",
        "--environment_type=PROCESS fails",
    ),
    PrivatePart(
        "apache_beam.portability.api",
        "beam_provision_api_pb2.GetProvisionInfoRequest",
        "request for that",
        "--environment_type=PROCESS fails",
    ),
    PrivatePart(
        "apache_beam.portability.api",
        "beam_provision_api_pb2_grpc.ProvisionServiceStub",
        "service that answers it",
        "--environment_type=PROCESS fails",
    ),
    PrivatePart(
        "apache_beam.portability.api",
        "endpoints_pb2.ApiServiceDescriptor",
        "address of a runner's service in the form that a worker reads",
        "--environment_type=PROCESS fails",
    ),
    # The end of a command.
    PrivatePart(
        "atexit",
        "_run_exitfuncs",
        "what os._exit skips: Beam's end of job servers, loky's of semaphores",
        "job servers outlive their build",
    ),
)

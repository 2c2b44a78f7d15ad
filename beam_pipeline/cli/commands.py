"""The commands: build, plan, adopt, verify, show, diff, report, doctor."""

import contextlib
import dataclasses
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline import recipe
from beam_pipeline.cli import results, summary
from beam_pipeline.cli.doctor import examine
from beam_pipeline.cli.options import (
    AdoptOptions,
    DiffOptions,
    DoctorOptions,
    ReportOptions,
    ShowOptions,
    VerifyOptions,
    names_of_beam,
    options_of,
    read_command,
    split_arguments,
)
from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.adoption import adopt
from beam_pipeline.dataset.difference import diff
from beam_pipeline.dataset.opening import open as open_dataset
from beam_pipeline.dataset.verification import verify
from beam_pipeline.describe.record_text import as_text
from beam_pipeline.errors import BeamTFRecordsError, DataError, DatasetDamagedError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.option_values import LAYOUT_GROUP
from beam_pipeline.pipeline import build, check_before_reading, plan
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.records import FileRef
from beam_pipeline.running.locked_folders import temporary_folder
from beam_pipeline.running.store_settings import use_options
from beam_pipeline.sources.inputs import complete, find_input, naming_other_layouts, source_of
from beam_pipeline.sources.layout import Claim, summary_lines
from beam_pipeline.write.directories import check_apart, scratch_dir
from beam_pipeline.write.receipts import has_finished_parts
from beam_pipeline.write.rejects_file import failed_rejects_path
from tfrecord_dataset import foreign_errors, plugins, standard_streams
from tfrecord_dataset.errors import ConfigError, UnknownNameError
from tfrecord_dataset.interrupts import ending_blocked_calls
from tfrecord_dataset.shown_text import counted, one_line, printable

_CONTINUES = "it continues with the shards that are missing"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` name, and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # Not parsed by argparse, as argparse's errors have a traceback too.
    debug = "--debug" in arguments
    try:
        with ending_blocked_calls():
            return _run(arguments)
    except BrokenPipeError:  # `show … | head` has read enough
        standard_streams.discard_stdout()
    except (Exception, KeyboardInterrupt) as error:
        if (failure := _failure(error)) is None:
            raise
        if debug:
            traceback.print_exception(error)
        message, exit_code = failure
        print(message, file=sys.stderr)
        return _OTHER_CODES.get("".join(arguments[:1]), {}).get(exit_code, exit_code)
    return 0


def _run(arguments: Sequence[str]) -> int:
    own, beams = split_arguments(arguments)
    is_job = own[:1] in (["build"], ["plan"], ["verify"], ["adopt"])
    options = PipelineOptions(beams)
    use_options(options)  # for the files that other options name
    command = read_command(own, names_of_beam() if is_job else ())
    if beams and not is_job:
        raise ConfigError(f"unknown option {beams[0]} of {command.name}; leave it out")
    how: dict[str, Any] = {"to_json": True} if command.others.get("json") else {}
    how |= {"save": path} if (path := command.others.get("save")) else {}
    return _COMMANDS[command.name](options_of(command), options, **how) or 0


def _failure(error: BaseException) -> tuple[str, int] | None:
    """Return (message, exit code) of an error that a user can fix; None for a bug."""
    if isinstance(error, ProblemError):
        lines = map(one_line, error.problem.lines())
        return "error: " + "\n".join(lines), error.exit_code
    if isinstance(error, BeamTFRecordsError):
        return f"error: {error}", error.exit_code
    if short := foreign_errors.shortage(error):
        return f"error: {short}", 1
    again = "run the same command again"
    if _CONTINUES in getattr(error, "__notes__", ()):
        again += f" ({_CONTINUES})"
    match _outer_cause(error):
        case KeyboardInterrupt():
            return f"interrupted; {again}", 130
        case OSError() as cause:
            where = f": {cause.filename}" if cause.filename else ""
            return f"error: {cause.strerror}{where}; fix that and {again}", 1
    if place := foreign_errors.place_of(error, plugins.packages(LAYOUT_GROUP)):
        return f"error in your code: {place}; --debug prints the full traceback", 1
    return None


def _outer_cause(error: BaseException) -> OSError | KeyboardInterrupt | None:
    """Return the external cause of `error`: an interrupt, a full disk, a forbidden path."""
    chain: list[BaseException] = []  # an error may be its own cause
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        if isinstance(cause, KeyboardInterrupt) or (isinstance(cause, OSError) and cause.strerror):
            return cause
        chain.append(cause)
        cause = cause.__context__ if cause.__cause__ in (None, cause) else cause.__cause__
    return None


def _build(config: BuildConfig, options: PipelineOptions) -> None:
    check_before_reading(config, options)
    scratch = scratch_dir(config)
    config, claim = _find_input(config, scratch)
    source = source_of(config, claim, scratch)
    try:
        info = build(config, options, source)
    except DataError:
        path = failed_rejects_path(config)
        with contextlib.suppress(RecordError):  # no rejects were written
            storage.read_bytes(FileRef(path=path, length=1))
            print(f"the rejects are listed in {path}", file=sys.stderr)
        raise
    except (Exception, KeyboardInterrupt) as error:
        if has_finished_parts(config):
            error.add_note(_CONTINUES)
        raise
    print(summary.as_text(summary.of_dataset(info)), file=sys.stderr)
    page = storage.join(info.path, "report.html")
    if not config.no_report and storage.exists(page):  # else a warning was logged
        print(one_line(f"report: {standard_streams.address(page)}"), file=sys.stderr)
    print(info.path)


def _plan(
    config: BuildConfig, options: PipelineOptions, *, to_json: bool = False, save: str = ""
) -> None:
    with temporary_folder() as scratch:
        try:
            found, claim = _find_input(config, scratch)
        except ConfigError as error:
            if save:
                _save_open(save, config, error)
            raise
        if save:
            recipe.save(save, found, understood=summary_lines(claim))
            print(one_line(f"recipe: {save}"), file=sys.stderr)
        preview = plan(found, options, source_of(found, claim, scratch))
    lines = summary.of_plan(preview, found)
    if to_json:
        print(results.plan_json(preview, found, claim, lines))
    else:
        print(summary.as_text(lines))
    if preview.plan.problem:
        with naming_other_layouts(found):
            raise preview.plan.problem


def _save_open(path: str, config: BuildConfig, error: ConfigError) -> None:
    """Save the recipe of an input that is refused or has an open question."""
    problem = error.problem if isinstance(error, ProblemError) else error
    decided_before = error.decided if isinstance(error, ProblemError) else {}
    fields = dataclasses.fields(config)
    undecided = {
        field.name for field in fields if getattr(config, field.name) in (field.default, ())
    }
    decided = {name: value for name, value in decided_before.items() if name in undecided}
    recipe.save(path, dataclasses.replace(config, **decided), problem=problem)
    option = problem.option if isinstance(problem, Problem) else ""
    what = f"complete the line {option}" if option else "edit it"
    print(one_line(f"recipe: {path}; {what}, and build it"), file=sys.stderr)


def _find_input(config: BuildConfig, scratch: str) -> tuple[BuildConfig, Claim]:
    """Return the completed config and the claim of its input, and print the claim on stderr."""
    check_apart(config)
    claim = find_input(config, scratch)
    for line in summary_lines(claim):
        print(one_line(line), file=sys.stderr)
    return complete(config, claim), claim


def _adopt(config: AdoptOptions, options: PipelineOptions) -> None:
    given = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    info = adopt(given.pop("dataset"), **given, options=options)
    print(summary.as_text(summary.of_dataset(info)), file=sys.stderr)
    print(info.path)


def _verify(config: VerifyOptions, options: PipelineOptions, *, to_json: bool = False) -> None:
    info = open_dataset(config.dataset)
    problems = verify(info, options)
    if to_json:
        print(results.verification_json(info, problems))
    for problem in problems:
        print(one_line(problem), file=sys.stderr)
    if problems:
        raise DatasetDamagedError(
            f"{info.path} does not verify: {counted(len(problems), 'problem')}; build "
            "it again, or restore the files listed above"
        )
    if to_json:
        return
    shards = sum(map(len, info.splits.values()))
    records = sum(map(info.num_records, info.splits))
    print(
        f"{counted(records, 'record')} in {counted(shards, 'shard')} of "
        f"{counted(len(info.splits), 'split')}: no problems"
    )


def _show(config: ShowOptions, options: PipelineOptions, *, to_json: bool = False) -> None:
    info = open_dataset(config.dataset)
    if config.split and config.split not in info.splits:
        raise UnknownNameError("split", config.split, info.splits)
    folder = Path(config.images) if config.images else None
    for name, example, path in results.examples(info, config.split, config.limit, folder):
        if to_json:
            print(results.record_json(name, example, str(path) if path else None))
            continue
        text = as_text(example, info.schema)
        drawn = f", drawn in {path}" if path else ""
        print(f"--- {printable(name, keeps='')}{drawn}\n{text}")


def _diff(config: DiffOptions, options: PipelineOptions, *, to_json: bool = False) -> int:
    changes = diff(config.old, config.new)
    if text := results.difference_json(changes) if to_json else results.difference_text(changes):
        print(text)
    return 1 if changes else 0


def _report(config: ReportOptions, options: PipelineOptions) -> None:
    from beam_pipeline.report.page import write_report  # 0.2 s, only for this command

    print(write_report(config.dataset, config.output, seed=config.seed))


def _doctor(config: DoctorOptions, options: PipelineOptions) -> None:
    wrong = 0
    for finding in examine(config.urls):
        print(one_line(f"{finding.name:16} {finding.text}"), flush=True)
        if finding.remedy:
            wrong += 1
            print(one_line(f"{'':16} → {finding.remedy}"), flush=True)
    if wrong:
        raise BeamTFRecordsError(f"{counted(wrong, 'problem')}, each with its remedy (→)")


_COMMANDS: Mapping[str, Callable[..., int | None]] = {
    "build": _build,
    "plan": _plan,
    "adopt": _adopt,
    "verify": _verify,
    "show": _show,
    "diff": _diff,
    "report": _report,
    "doctor": _doctor,
}

# Exit codes of errors for commands whose own codes have another meaning: diff's 1 means "differ".
_OTHER_CODES: Mapping[str, Mapping[int, int]] = {"diff": {1: 2, 3: 2}}

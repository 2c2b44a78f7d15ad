"""`python loops_of_workers.py PAGE`: loops of one worker of TF_CONFIG, on `rows-*.tfrecord`.

Prints a JSON line: the numbers of the records of each step in each loop, and the weights after
the code of PAGE.
"""

import json
import os
import runpy
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

from end_to_end import pages

import trainer

BATCH_SIZE, NUM_STEPS = 16, 9
_OPTIONS = {
    "in file order": {"features": ["number"]},
    "record by record": {"features": ["number", "words"]},
    "shuffled": {"features": ["number"], "shuffle": True, "seed": 3},
    "full batches": {"features": ["number"], "drop_remainder": True},
    "endless": {"features": ["number"], "shuffle": True, "seed": 3, "repeat": True},
}


def main() -> None:
    """Run all loops."""
    own = _run_page(Path(sys.argv[1]))
    strategy, dataset = own["strategy"], trainer.open("rows-*.tfrecord")
    found: dict[str, Any] = {"page": [each.numpy().tolist() for each in own["model"].weights]}
    for name, distribute in _WAYS.items():
        for of, options in _OPTIONS.items():
            found[f"{name}, {of}"] = _steps(strategy, distribute(strategy, dataset, options))
    print(json.dumps(found))


def _run_page(page: Path) -> dict[str, Any]:
    """Run the page's Python, and return its variables."""
    code = [code for language, code in pages.fences(page.read_text()) if language == "python"]
    program = Path(f"page-{os.getpid()}.py")  # a file, for AutoGraph
    program.write_text("".join(code))
    return runpy.run_path(str(program))


def _distribute(strategy: Any, dataset: Any, options: dict[str, Any]) -> Any:
    batches = dataset.batches(batch_size=BATCH_SIZE, **options)
    return strategy.experimental_distribute_dataset(batches)


def _from_function(strategy: Any, dataset: Any, options: dict[str, Any]) -> Any:
    return strategy.distribute_datasets_from_function(
        lambda context: dataset.batches(batch_size=BATCH_SIZE, input_context=context, **options)
    )


_WAYS = {"distribute": _distribute, "from function": _from_function}


def _steps(strategy: Any, batches: Iterable[Any]) -> list[list[int]]:
    """Return the numbers of each of the first steps, over the worker's replicas."""
    return [
        [
            int(number)
            for numbers in strategy.experimental_local_results(batch["number"])
            for number in numbers
        ]
        for _, batch in zip(range(NUM_STEPS), batches, strict=False)
    ]


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        os._exit(1)  # at the usual end, workers wait for each other

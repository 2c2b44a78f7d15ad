"""Whether a run keeps decoded images, by its options and by what it has recorded."""

import dataclasses

from trainer import parsing
from trainer.dataset import Dataset
from trainer.errors import RunExistsError
from trainer.image_cache import ImageCache, describe
from trainer.options.train import TrainConfig
from trainer.progress import Progress
from trainer.runs.record import Order
from trainer.tasks import Task
from trainer.tasks.inputs.image import check_images


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """What changes no batch of a run, but how fast they come; and the size of what is kept.

    Attributes:
        cache: Of the images of the train split.
        validation_cache: Of those of the validation split.
        order: That of the run, with the size of what is kept where crops are taken of it.
    """

    cache: ImageCache
    validation_cache: ImageCache
    order: Order


def input_of_run(
    config: TrainConfig,
    task: Task,
    dataset: Dataset,
    splits: tuple[str, str | None],
    order: Order,
    steps: int,
    progress: Progress,
    *,
    continues: bool,
) -> RunInput:
    """The input of a run.

    Args:
        config: The options.
        task: What is trained.
        dataset: With the splits.
        splits: To train on, and to validate on.
        order: As the run has recorded it, or will.
        steps: Of the whole run.
        progress: For messages.
        continues: Whether the run goes on.

    Raises:
        ConfigError: There are no images to keep.
        RunExistsError: The run has used other crops than those of kept images.
    """
    names = [each.name for each in task.inputs.values()]
    images = parsing.keepable([dataset.features[name] for name in names])
    size = task.decoding.image_size
    if config.cache == "memory":
        check_images("--cache memory", task.inputs.values())
    split, validation_split = splits
    num_records = dataset.num_records(split)
    recorded = order.stored_size
    views = task.augmentation.views
    has_crops = bool(images) and views is not None and not views.are_whole
    if continues and has_crops and recorded is None and config.cache == "memory":
        raise RunExistsError(
            f"the run in {config.output} decodes each crop by itself, but --cache memory would "
            "take them of kept images; go on with --cache none"
        )
    asked = ImageCache(place=config.cache, size=recorded)
    cache = dataset.image_cache(
        split,
        asked,
        images,
        views,
        size,
        is_seen_again=steps * config.global_batch > num_records,
    )
    kept = ImageCache(place="none")
    if cache.place != "none":
        progress.say(describe(cache, num_records, images))
        if validation_split is not None:
            others = dataclasses.replace(asked, place="auto", size=None)
            kept = dataset.image_cache(validation_split, others, images, None, size)
    if has_crops and cache.size is not None:
        order = dataclasses.replace(order, stored_size=cache.size)
    return RunInput(
        cache=cache,
        validation_cache=kept if kept.place == cache.place else ImageCache(place="none"),
        order=order,
    )

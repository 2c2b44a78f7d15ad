"""The gate before anything is written: is the data as good as the options ask for?"""

from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import DataError


def check_quality(statistics: Statistics, config: BuildConfig) -> None:
    """Raises DataError where the data is worse than the options allow."""
    if config.duplicates == "error" and statistics.duplicate_groups:
        first = statistics.duplicates[0][1]
        raise DataError(
            f"{statistics.duplicate_records} records share {statistics.duplicate_groups} contents, "
            f"such as {' and '.join(first.keys[:3])}; remove them, or pass --duplicates drop or "
            "keep"
        )
    if statistics.equal_keys:
        key, one, other = min(statistics.equal_keys)
        raise DataError(
            f"key {key!r} belongs to two records, {one or key} and {other or key}; a source must "
            "give every record its own key: where two annotation files list the same image, give "
            "only one of them, or pass --duplicates drop"
        )
    if config.leaks == "error" and statistics.across_splits:
        named = "; ".join(
            " and ".join(f"{key} ({split})" for split, key in splits) for splits in statistics.leaks
        )
        raise DataError(
            f"contents that are in more than one split: {statistics.across_splits:,}, such as "
            f"{named}; a model would be tested on what it was trained on: remove all but one of "
            "each, pass --duplicates drop, which keeps the first by key, or --leaks warn, which "
            "keeps all"
        )
    total = statistics.num_records + statistics.rejected.total()
    of_data = statistics.num_records + statistics.num_bad
    # Divided, not multiplied: 0.29 × 100 is a little less than 29.
    if statistics.num_bad and statistics.num_bad / of_data > config.max_bad_fraction:
        source, reason, detail = statistics.first_rejects[0]
        raise DataError(
            f"{statistics.num_bad} of {of_data} records are bad, where --max-bad-fraction allows "
            f"{config.max_bad_fraction:g} of them; the first is {source}: {reason} ({detail}). "
            "Fix or remove them, or allow a larger fraction"
        )
    if not statistics.num_records:
        reasons = ", ".join(f"{n} × {reason}" for reason, n in statistics.rejected.most_common(3))
        raise DataError(
            f"no record is left to write of {total} found ({reasons or 'the input is empty'}); "
            "check the input and --layout"
        )

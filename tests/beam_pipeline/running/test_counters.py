"""What a job counts of its requests to stores."""

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from hypothesis import given
from hypothesis import strategies as st

from beam_pipeline.running.counters import count_requests, counted, counter, spread
from beam_pipeline.running.local_runner import local_runner
from tfrecord_dataset.store.tally import TALLY, Requests, as_text


@given(st.lists(st.integers(0, 100_000)))
def test_times_are_spread_as_they_were(times):
    requests = Requests(
        timed=len(times),
        total_ms=sum(times),
        least_ms=min(times, default=0),
        most_ms=max(times, default=0),
    )
    found = list(spread(requests))
    assert (len(found), sum(found)) == (len(times), sum(times))
    assert (min(found, default=0), max(found, default=0)) == (requests.least_ms, requests.most_ms)


class _Ask(beam.DoFn):
    """Counts as if its process had asked a store so often."""

    def process(self, number):
        again = Requests(sent=1, again=1, throttled=1, timed=1, total_ms=5, least_ms=5, most_ms=5)
        for ms in (number, 10 * number):
            get = Requests(sent=1, num_bytes=7, timed=1, total_ms=ms, least_ms=ms, most_ms=ms)
            TALLY.add({"get": get})
        TALLY.add({"put": again})
        counter("numbers").inc(number)
        yield number

    def finish_bundle(self):
        count_requests()


def test_a_jobs_requests_come_back_to_its_launcher():
    TALLY.take()
    pipeline = beam.Pipeline(local_runner(), PipelineOptions([]))
    numbers = pipeline | beam.Create([1, 2, 3]) | "Ask" >> beam.ParDo(_Ask())
    numbers | beam.Reshuffle() | "AskAgain" >> beam.ParDo(_Ask())
    result = pipeline.run()
    result.wait_until_finish()
    assert TALLY.take() == {}

    assert counted(result) == {"numbers": 12}

    assert TALLY.take() == {
        "get": Requests(sent=12, num_bytes=84, timed=12, total_ms=132, least_ms=1, most_ms=30),
        "put": Requests(sent=6, again=6, throttled=6, timed=6, total_ms=30, least_ms=5, most_ms=5),
    }


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, ""),
        ({"head": Requests(sent=1)}, "store: 1 request"),
        (
            {"put": Requests(sent=2, timed=2, total_ms=2999, least_ms=999, most_ms=2000)},
            "store: 2 requests, 1.5 s on average, slowest 2.0 s",
        ),
        (
            {
                "get": Requests(
                    sent=1203,
                    again=31,
                    throttled=12,
                    num_bytes=4 << 30,
                    timed=1203,
                    total_ms=40 * 1203,
                    least_ms=1,
                    most_ms=2100,
                ),
                "upload": Requests(sent=4, num_bytes=1000),
                "copy": Requests(sent=1, num_bytes=0),
            },
            "store: 1,208 requests, 4.0 GiB read, 1000 B written, 31 sent again (12 throttled), "
            "40 ms on average, slowest 2.1 s",
        ),
    ],
)
def test_the_line_at_the_end(counts, expected):
    assert as_text(counts) == expected

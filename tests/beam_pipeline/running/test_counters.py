"""What a job counts comes back to its launcher."""

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.running.counters import as_text, counted, counter
from beam_pipeline.running.local_runner import local_runner


class _Count(beam.DoFn):
    def process(self, number):
        counter("numbers").inc(number)
        yield number


def test_counts_of_several_stages_are_added():
    pipeline = beam.Pipeline(local_runner(), PipelineOptions([]))
    numbers = pipeline | beam.Create([1, 2, 3]) | "Count" >> beam.ParDo(_Count())
    numbers | beam.Reshuffle() | "CountAgain" >> beam.ParDo(_Count())
    result = pipeline.run()
    result.wait_until_finish()
    assert as_text(counted(result)) == "numbers 12"

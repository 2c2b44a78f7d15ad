"""Inspect, the second stage: read every file once, check, measure and hash it."""

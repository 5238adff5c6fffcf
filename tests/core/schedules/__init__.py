"""Tests of `core/schedules`: times, the clock, and runs that start once."""

"""The standard library as data: functions, aggregates and conversions."""

"""Spark itself: sessions, Java, job names, cancellation, progress, failures."""

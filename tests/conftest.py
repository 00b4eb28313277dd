"""Before any test: Hypothesis gets its profile.

It measures no time, since a machine with other work to do must not fail a test.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("tidelog", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tidelog")

"""Settings for every test."""

from hypothesis import HealthCheck, settings

# A property is checked on the same examples in every run, and never timed: these machines are shared.
settings.register_profile("starcert", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("starcert")

"""Settings for every test."""

import signal

import pytest
from hypothesis import HealthCheck, settings

# A property is checked on the same examples in every run, and never timed: these machines are shared.
settings.register_profile("starcert", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("starcert")


@pytest.fixture(scope="session", autouse=True)
def _interruptible():
    """A shell starts what runs in the background with Ctrl-C ignored, and children inherit that; tests send it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

"""How hypothesis searches: the same examples every time; ``--hypothesis-profile thorough`` roams.

A test that needs more or fewer examples than the profile says scales the profile's number, so
that one option deepens them all.
"""

from hypothesis import HealthCheck, settings

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=25,
    stateful_step_count=40,
    suppress_health_check=SLOW_IS_FINE,
)
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=300,
    stateful_step_count=100,
    suppress_health_check=SLOW_IS_FINE,
)
settings.load_profile("ci")

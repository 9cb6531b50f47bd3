"""What is proved of one device that learns alone, in the words that every scheme uses."""

from devote import theory
from devote.protocol.promises import Case, Promise
from devote.protocol.spec import ExperimentSpec


def alone(spec: ExperimentSpec, eta: float) -> theory.LoneFailure:
    """What is proved of the subroutine alone, to which ``eta`` is handed."""
    return theory.lone_failure(
        spec.algorithm,
        n_arms=spec.n_arms,
        epsilon=spec.scheme.subroutine_epsilon(spec),
        eta=eta,
        radius=str(spec.options.get("radius", "union")),
    )


def why_unproved(case: Case, eta: float) -> str:
    """Why no proof applies to one device; empty where one does."""
    found = alone(case.spec, eta)
    if found.bound is None:
        return f"{case.spec.algorithm} alone: {found.why}"
    return case.broken


def one_device(case: Case, eta: float) -> Promise:
    """Property 1, which the paper assumes of every subroutine and every bound rests on."""
    if why := why_unproved(case, eta):
        return Promise("one device", "claimed", f"Not proved here: {why}.")
    found = alone(case.spec, eta)
    return Promise(
        "one device",
        "proved",
        f"{case.spec.algorithm} alone loses all good arms with probability at most "
        f"{found.bound:.2g}, where {eta:.2g} is allowed: {found.why}.",
    )

"""Adversaries and measured guarantees."""

from devote.audit.correctness import Correctness, audit_correctness, has_failed, proved_failure
from devote.audit.exposure import Exposure, audit_devices, audit_exposure, promised_epsilon
from devote.audit.privacy import Leak, audit_privacy
from devote.audit.rates import AuditError, Rate
from devote.audit.worst_case import Refusal, audit_worst_case, hard_problems

__all__ = [
    "AuditError",
    "Correctness",
    "Exposure",
    "Leak",
    "Rate",
    "Refusal",
    "audit_correctness",
    "audit_devices",
    "audit_exposure",
    "audit_privacy",
    "audit_worst_case",
    "hard_problems",
    "has_failed",
    "promised_epsilon",
    "proved_failure",
]

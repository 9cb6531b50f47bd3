"""What ``devote verify`` prints: the verdict, each check, what is wrong, what it cannot tell."""

from dataclasses import asdict
from typing import Any

from rich.text import Text

from devote.boards.verification import CHECKS, Finding, Report
from devote.cli.terminal import console, table


def to_json(report: Report) -> dict[str, Any]:
    """The report as one JSON object."""
    spec = report.experiment.spec
    return {
        "experiment": spec.name,
        "board": report.experiment.board,
        "fingerprint": spec.fingerprint,
        "scheme": spec.scheme.name,
        "ok": report.ok,
        "messages": report.messages,
        "voters": report.voters,
        "enrolled": report.enrolled,
        "status": report.status,
        "answer": [spec.arm_names[arm] for arm in report.answer],
        "number": report.number,
        "head": report.head,
        "checked": dict(report.checked),
        "wrong": dict(report.wrong),
        "findings": [asdict(finding) for finding in report.findings],
        "unchecked": list(report.unchecked),
    }


def show(report: Report) -> None:
    """Print the report for a person."""
    out = console()
    spec = report.experiment.spec

    def say(text: str, style: str = "", indent: str = "") -> None:
        rows = Text(text, style=style).wrap(out, max(20, out.width - len(indent)))
        for row in rows:
            out.print(Text(indent) + row)

    size = f"{report.messages:,} messages of {report.voters:,} voters, {report.enrolled:,} enrolled"
    say(f"{spec.name} ({spec.scheme.name}): {size}")
    wrong = sum(report.wrong.values())
    if report.ok:
        say("All is well.", "bold green")
    else:
        say(f"WRONG: {wrong:,} {'finding' if wrong == 1 else 'findings'}.", "bold red")
    rows = [
        (check, f"{report.checked[check]:,}", f"{report.wrong[check] or '-'}", meaning)
        for check, meaning in CHECKS.items()
    ]
    out.print()
    out.print(table("brrl", ("check", "checked", "wrong", "what is counted"), rows))
    if not report.ok:
        say("\nWhat is wrong", "bold")
        for finding in report.findings:
            say(words(finding), indent="  ")
        if wrong > len(report.findings):
            say(f"and {wrong - len(report.findings):,} more", indent="  ")
    say("\nWhat this cannot tell", "bold")
    for sentence in report.unchecked:
        say(sentence, indent="  ")
    out.print()
    answer = ", ".join(spec.arm_names[arm] for arm in report.answer)
    say(f"The good messages come to: {report.status}, {answer}")
    if report.head is not None:
        out.print(f"head {report.number}:{report.head}", soft_wrap=True)


def words(finding: Finding) -> str:
    """A finding on one line."""
    where = "" if finding.number is None else f"message {finding.number:,}: "
    return f"{finding.check}: {where}{finding.text}"

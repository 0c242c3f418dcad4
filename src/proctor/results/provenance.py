"""Where a run's numbers come from, as rows of its report."""

from __future__ import annotations

import shlex

from proctor.results.results_file import ResultsFile
from proctor.results.run_record import ReplicaRecord, RunRecord, RunSettingsRecord
from proctor.results.tables import NOTHING, Table, plural


def provenance_table(results: ResultsFile) -> Table:
    """What was run, by what, on what, from what; with the digests."""
    rows = [
        *_benchmark_rows(results.run),
        *_policy_rows(results.run),
        *_machine_rows(results.run),
        *digest_rows(results),
    ]
    return Table(("what", "value"), tuple(rows), left=2)


def digest_rows(results: ResultsFile) -> list[tuple[str, str]]:
    """The digests as they are shown. What came out of part of a plan compares with nothing."""
    if results.summary.ledger.missing:
        return [
            ("outcome_hash", "partial: no outcome_hash to compare"),
            ("conditions_hash", results.conditions_hash),
        ]
    return [
        ("outcome_hash", results.outcome_hash),
        ("actions_hash", results.actions_hash or NOTHING),
        ("conditions_hash", results.conditions_hash),
    ]


def _benchmark_rows(run: RunRecord) -> list[tuple[str, str]]:
    benchmark, settings, selection = run.benchmark, run.settings, run.selection
    tasks = plural(len(run.tasks), "task") if selection.tasks is None else ", ".join(selection.tasks)
    return [
        ("benchmark", f"{benchmark.id} ({benchmark.status}), {benchmark.hash}"),
        ("selection", f"suite {selection.suite}, {tasks}, {plural(len(run.planned), 'episode')}"),
        ("repetitions", str(selection.repeat)),
        ("success means", benchmark.success),
        ("control", f"{benchmark.control_hz:g} Hz, execute_steps {settings.execute_steps}"),
        ("action representation", settings.action_representation),
        ("observed", f"{', '.join(settings.observe) or NOTHING}{_sent(settings)}"),
        ("render profile", benchmark.render_profile),
        ("run seed", str(settings.run_seed)),
    ]


def _sent(settings: RunSettingsRecord) -> str:
    """That a mapping may leave out what was observed."""
    mapping = settings.mapping
    if mapping is None or mapping.get("unlisted") == "canonical":
        return ""
    return f"; sent: what mapping {mapping['name']} names"


def _policy_rows(run: RunRecord) -> list[tuple[str, str]]:
    policy = run.policy
    args = ", ".join(f"{name}={value}" for name, value in policy.args.items())
    wires = {
        f"{replica.dialect}, chunks owned by {replica.chunk_owner}, batching {replica.batching},"
        f" seeds {replica.seeds}{_terms(replica)}"
        for replica in run.replicas
    }
    return [
        ("policy", policy.spec),
        ("policy file", policy.file_sha256 or NOTHING),
        ("policy arguments", args or NOTHING),
        (
            "checkpoint",
            f"{policy.checkpoint} {policy.checkpoint_sha256 or ''}" if policy.checkpoint else NOTHING,
        ),
        *(("wire", wire) for wire in sorted(wires)),
        *_dialect_rows(run),
    ]


def _dialect_rows(run: RunRecord) -> list[tuple[str, str]]:
    reason = run.settings.dialect_reason
    return [("dialect", f"{run.settings.dialect}: {reason}")] if reason else []


def _terms(replica: ReplicaRecord) -> str:
    """What is particular to a foreign server."""
    terms = {"mapping": replica.mapping, "images": replica.codec, "cannot carry": ", ".join(replica.cannot)}
    return "".join(f", {name} {value}" for name, value in terms.items() if value)


def _machine_rows(run: RunRecord) -> list[tuple[str, str]]:
    made = run.provenance
    tree = {True: ", uncommitted changes", False: "", None: ""}[made.dirty]
    commit = f", commit {made.commit}{tree}" if made.commit else ""
    platforms = [
        (
            f"platform of {', '.join(platform.workers)}",
            f"{platform.platform}; Python {platform.python}; {platform.renderer};"
            f" {_versions(platform.packages)}",
        )
        for platform in run.platforms
    ]
    return [
        ("proctor", f"{made.proctor}{commit}"),
        ("Python", f"{made.python}; {_versions(made.packages)}"),
        *platforms,
        ("workers, replicas", f"{run.workers}, {len(run.replicas)}"),
        ("started, finished", f"{run.started_at}, {run.finished_at}"),
        ("command", shlex.join(made.command) or NOTHING),
    ]


def _versions(packages: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in packages.items()) or NOTHING

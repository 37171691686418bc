"""Say of one artifact what a collection would do to it, and why."""

from __future__ import annotations

from kmnb.core.addresses import SCHEME, parse_uri
from kmnb.core.answers import Answer, cell, line
from kmnb.core.report import Report
from kmnb.core.retention import SENTENCES, Reason, Verdict
from kmnb.ops.artifacts import get_artifact
from kmnb.ops.context import Context
from kmnb.ops.handles import address_of_handle


async def explained(context: Context, report: Report, key: str) -> Answer:
    """Explain the fate of one artifact by a report, best that of a dry run.

    Args:
        context: The workspace.
        report: The report.
        key: Key or URI of an artifact, or the name of a leftover as a report tells it.

    Returns:
        One line: key, ``goes`` or ``stays``, the reason's word, and the reason as people read it.

    Raises:
        ArtifactNotFound: There is no such artifact.
    """
    if key.startswith(SCHEME):
        key = parse_uri(key).key or key
    verdict = report.explain(key)
    if verdict is None:
        artifact = await get_artifact(context, key)
        named = address_of_handle(artifact) is not None
        reason = Reason.IN_POLICY if named else Reason.OTHER_CREW
        detail = "named artifacts go by a policy only" if named else f"this judges {report.scope} only"
        verdict = Verdict(artifact.key, reason, artifact.size, detail)
    fate = "goes" if verdict.deletes else "stays"
    sentence = SENTENCES[verdict.reason] + (f" ({verdict.detail})" if verdict.detail else "")
    told = {"key": verdict.key, "fate": fate, "reason": str(verdict.reason), "meaning": sentence, "bytes": verdict.size}
    return line("\t".join((cell(verdict.key), fate, str(verdict.reason), cell(sentence))), told)

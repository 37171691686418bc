"""Commands that draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kmnb.core.describe import Param
from kmnb.ops._command import command, word

if TYPE_CHECKING:
    from kmnb.core.charts import Chart


@command(
    "chart",
    "Draw a column's values, a Prometheus range, or without an artifact who keeps how much.",
    word("ref", "Artifact; without one the store of the crew is drawn.", required=False),
    Param("column", "text", "Column with numbers; the first one when absent."),
)
async def chart(workspace: Any, given: Mapping[str, Any]) -> Chart:
    """Draw a chart."""
    from kmnb.ops.charts import artifact_chart, workspace_chart

    if not given["ref"]:
        return await workspace_chart(workspace)
    return await artifact_chart(await workspace.get_async(given["ref"]), given["column"])


COMMANDS = (chart,)

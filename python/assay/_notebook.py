"""Pages inside notebooks."""

from __future__ import annotations

import html


def framed(page: str, height: int = 640) -> str:
    """The page in a frame of its own, so that neither its styles nor its scripts meet the notebook's."""
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" sandbox="allow-scripts" '
        f'style="width:100%;height:{height}px;border:0" title="assay"></iframe>'
    )

# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The frame and the colours of the charts that are drawn as SVG. Pages and viewers choose light or dark."""

from xml.sax.saxutils import escape

# The chart paints its background, so that it is legible also if the page has another theme than the system.
STYLE = """
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-size:13px;fill:#1f2328}
.card{fill:#fff}.small{font-size:11.5px;fill:#59636e}.title{font-size:16px;font-weight:600}.strong{font-weight:600}
.factor{font-size:19px;font-weight:700;fill:#4d7a00}.without{fill:#b6bec8}.later{fill:#76b900}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.card{fill:#0d1117}.small{fill:#9198a1}.factor{fill:#9bd42a}.without{fill:#565f69}}
"""


def text(x, y, words, kind, end=False):
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x}" y="{y}" class="{kind}"{anchor}>{escape(words)}</text>'


def card(width, height, parts, style=""):
    """Returns the picture of these parts."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"<style>{STYLE}{style}</style>", f'<rect width="{width}" height="{height}" rx="6" class="card"/>', *parts, "</svg>"]) + "\n"

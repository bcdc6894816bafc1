"""The ratios as a chart: an SVG of bars, each with its line to keep, written by hand."""

from collections.abc import Mapping
from html import escape

WIDTH, LABEL, ROW, TOP = 860, 380, 24, 40
SCALE = 220  # pixels for 1.0
MOST = 2.0  # where a bar is cut


def svg(title: str, ratios: Mapping[str, float]) -> str:
    """A bar for each ratio by its name; the line is at 1."""
    height = TOP + ROW * len(ratios) + 16
    rows = [_row(TOP + ROW * place, name, value) for place, (name, value) in enumerate(ratios.items())]
    line = LABEL + SCALE
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            ' font-family="system-ui, sans-serif" font-size="13" role="img">',
            f"<title>{escape(title)}</title>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="12" y="24" font-size="16" font-weight="600" fill="#1f2933">{escape(title)}</text>',
            *rows,
            f'<line x1="{line}" y1="{TOP - 6}" x2="{line}" y2="{height - 12}" stroke="#1f2933" stroke-dasharray="3 3"/>',
            "</svg>",
            "",
        )
    )


def _row(top: int, name: str, value: float) -> str:
    width = max(1, round(SCALE * min(value, MOST)))
    return (
        f'<text x="{LABEL - 10}" y="{top + 15}" text-anchor="end" fill="#1f2933">{escape(name)}</text>'
        f'<rect x="{LABEL}" y="{top + 3}" width="{width}" height="{ROW - 8}" fill="#3b7ea1"/>'
        f'<text x="{LABEL + width + 6}" y="{top + 15}" fill="#1f2933">{value:.2f}</text>'
    )

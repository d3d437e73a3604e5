"""One HTML page without any outside resource: tables, the curve as SVG, and the data itself."""

from __future__ import annotations

import json
from html import escape
from math import log10
from typing import Any

from promptlint.words import counted

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
table{border-collapse:collapse;width:100%;margin:1rem 0}td,th{border-bottom:1px solid #ddd;padding:.3rem .6rem;
text-align:left;vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
svg{width:100%;height:auto}code{background:#f4f4f4;padding:0 .2rem}
@media(prefers-color-scheme:dark){body{background:#161616;color:#e6e6e6}code{background:#262626}td,th{border-color:#333}}
"""


def render(data: dict[str, Any]) -> str:
    """Return the page; the JSON stands in it as ``<script type="application/json" id="data">``."""
    summary = data["summary"]
    title = f"promptlint trace: {', '.join(summary['logs'])}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{counted(summary['requests'], 'request')}, {counted(summary['lost_tokens'], 'lost token')}</p>",
    ]
    if data["causes"]:
        body.append(_table(data["causes"]))
    if data["simulation"]:
        body.append(_curve(data["simulation"]))
    raw = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(body)}"
        f'<script type="application/json" id="data">{raw}</script></body></html>\n'
    )


def _table(causes: list[dict[str, Any]]) -> str:
    rows = "".join(_row(row) for row in causes)
    head = "<tr><th>kind<th class=n>lost tokens<th class=n>USD<th class=n>requests<th>example</tr>"
    return f"<h2>Causes</h2><table>{head}{rows}</table>"


def _row(row: dict[str, Any]) -> str:
    usd = "" if row["usd"] is None else f"{row['usd']:,.2f}"
    example = row["example"]
    return (
        f"<tr><td>{escape(row['kind'])}</td><td class=n>{row['lost_tokens']:,}</td><td class=n>{usd}</td>"
        f"<td class=n>{row['requests']:,}</td>"
        f"<td><code>{escape(example['file'])}:{example['line']}</code> {escape(row['message'])}</td></tr>"
    )


def _curve(simulation: dict[str, Any]) -> str:
    rows = [row for row in simulation["curve"] if row["capacity_blocks"] > 0]
    if len(rows) < 2:
        return ""
    low, high = log10(rows[0]["capacity_blocks"]), log10(rows[-1]["capacity_blocks"])
    span = (high - low) or 1.0

    def line(key: str) -> str:
        return " ".join(
            f"{60 + 820 * (log10(row['capacity_blocks']) - low) / span:.1f},{320 - 300 * row[key]:.1f}"
            for row in rows
        )

    grid = "".join(
        f'<line x1="60" x2="880" y1="{320 - 3 * part}" y2="{320 - 3 * part}" stroke="#8884"/>'
        f'<text x="52" y="{324 - 3 * part}" font-size="12" text-anchor="end" fill="currentColor">{part} %</text>'
        for part in (0, 25, 50, 75, 100)
    )
    ends = (
        f'<text x="60" y="342" font-size="12" fill="currentColor">{rows[0]["capacity_blocks"]:,}</text>'
        f'<text x="880" y="342" font-size="12" text-anchor="end" fill="currentColor">'
        f"{counted(rows[-1]['capacity_blocks'], 'block')} of {simulation['block_size']} {simulation['unit']}</text>"
    )
    return (
        "<h2>Hit ratio by capacity</h2><p>tokens (solid), mean of requests (dashed)</p>"
        f'<svg viewBox="0 0 900 350" role="img">{grid}{ends}'
        f'<polyline fill="none" stroke="#2b7de9" stroke-width="2" points="{line("token_hit_ratio")}"/>'
        f'<polyline fill="none" stroke="#e9832b" stroke-width="2" stroke-dasharray="6 4" '
        f'points="{line("request_mean_hit_ratio")}"/></svg>'
    )

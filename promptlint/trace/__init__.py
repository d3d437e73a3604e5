"""Request logs: read them, simulate caches over them, explain every miss.

The flow, one package or module a step::

    file ─readers─▶ Request (text) ─encode─▶ Columns (hashes only) ─curve, simulate─▶ ratios
                        │                                                       │
                        └──explain──▶ causes ──▶ findings, groups, money ──────▶ report
    hash-only file ─readers─▶ Hashed ─────────▶ Columns
"""

"""Jinja templates: whole files, and Jinja inside the values of other files. Nothing is rendered."""

from __future__ import annotations

from promptlint.frontends.jinja.fragment import Fragment, Hole, variables
from promptlint.frontends.jinja.read import front_matter_end, is_page, looks_like, read, segments
from promptlint.frontends.jinja.roles import assign_roles

__all__ = [
    "Fragment",
    "Hole",
    "assign_roles",
    "front_matter_end",
    "is_page",
    "looks_like",
    "read",
    "segments",
    "variables",
]

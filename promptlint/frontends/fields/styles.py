"""Which placeholder style a text uses. Better none than a wrong one.

Braces, dollars and percent signs are everywhere in JSON examples, LaTeX, shell lines and code. A
style is named only for what cannot well be anything else.
"""

from __future__ import annotations

import re

from promptlint.frontends.fields.simple import TIME_TAG, field_end

_FENCE = re.compile(
    r"^[ \t]*(`{3,20}|~{3,20})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
# A fence around nothing but a field delimits a value; it shows no code.
_FENCED_FIELD = re.compile(
    r"(`{3,20}|~{3,20})\w{0,20}\s{0,9}(\$?\{[^\W\d][\w.]*\}|\$[^\W\d]\w*|\{\{ ?[^\W\d][\w.]* ?\}\})\s{0,9}\1"
)
# So do single backticks around nothing but a field, on a line of their own or behind a label.
_TICKED_FIELD = re.compile(
    r"(?:(?<=:)[ \t]{0,9}|^[ \t]*(?=`\{[\w.]+\}`[ \t]*$))`(\{[^\W\d][\w.]*\})`", re.MULTILINE
)
# Fences that name a programming language show a program; others often frame a value.
_PROGRAM = re.compile(
    r"^[ \t]*(`{3,20}|~{3,20})[ \t]*(?:python|py|js|jsx|ts|tsx|javascript|typescript|csharp|cs|c#|java|kotlin|go|rust|"
    r"ruby|php|swift|bash|sh|shell|c|cpp|c\+\+|html|vue|jinja2?|j2|handlebars|hbs|yaml|yml|hcl|dockerfile)\b[^\n]*\n"
    r".*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
# Code that a prompt shows: its braces are filled by whoever runs the example.
# Quotes are escaped where the program stands in JSON: "code": "print(f\"{x}\")".
_F_STRING = re.compile(r"\b(?:[fF][rR]?|[rR][fF])(\\\"[^\"\n]*\\\"|\"[^\"\n]*\"|'[^'\n]*')")
_INLINE = re.compile(r"`[^`\n]+`")
_MATH = re.compile(
    r"\\begin\{(\w+\*?)\}.{0,1000}?\\end\{\1\}|\$\$.{1,1000}?\$\$|\\\[.{1,1000}?\\\]", re.DOTALL
)
_BRACED = re.compile(r"(?<![A-Za-z0-9\\^_}\]$%#{])\{([^\W\d]\w*(?:\.[^\W\d]\w*|\[\w+\])*)(?:![rsa])?\}(?!\})")
# `${{ secrets.TOKEN }}` is an expression of a CI workflow.
_MUSTACHE = re.compile(
    r"(?<![\\{])(?!(?<=\$)\{\{\s{0,9}(?:secrets|github|env|inputs|matrix|steps|needs|vars|runner|parameters)\.)"
    r"\{\{\{?~?\s{0,9}(?:[#^/>&]\s{0,9})?[@$]?[^\W\d][\w.\-/]*(?:[\s|(\[][^{}]{0,120})?~?\}\}"
    r"|\{\{#[\w.\-]{1,100}#\}\}"
)
# Four words and more are no path and no helper: "{{Include all answers to the question}}" is what is to be written
# there, with its braces doubled for `str.format`.
_SAID = re.compile(r"\{\{[^\W\d][\w'/-]*,?(?: [\w'/-]+,?){3,}[^{}]*\}\}")
_LATEX = re.compile(r"\\[A-Za-z]{1,20}\{\{\w{0,40}\}\}")
_DOLLAR_BRACED = re.compile(r"(?<![\\$A-Za-z0-9_])\$\{([A-Za-z_]\w*)\}")
_DOLLAR = re.compile(r"(?<![\\$A-Za-z0-9_(])\$([a-z][a-z0-9_]{2,})\b(?![$(=\\]|-[a-z])")
_PERCENT = re.compile(r"(?<!%)%\(([A-Za-z_]\w*)\)[sdrf](?![A-Za-z0-9_])")
_BARE_PERCENT = re.compile(r"(?<![A-Za-z0-9_%])%s(?![A-Za-z0-9_%])")
_BANG = re.compile(r"!<\s*[A-Z][A-Z0-9_ ]{1,40}>!")
_ANGLE = re.compile(rf"{TIME_TAG}|<<(?!SYS>>|INST>>|EOS>>|BOS>>) ?[A-Z][A-Z0-9_ ]{{2,60}}>>")
_BRACKET = re.compile(r"\[\[ ?[A-Z][A-Z0-9]{0,60}_[A-Z0-9_]{0,60} ?\]\]")
# Names that a shell sets, not the program that fills the prompt.
_SHELL = frozenset({"HOME", "PATH", "PWD", "USER", "SHELL", "TMPDIR", "LANG", "OSTYPE", "EDITOR"})
# Variables of PHP and of Perl lessons.
_CODE = frozenset({"this", "self"})
# Enough to tell a style; the patterns are linear but not free.
_MAX_LOOKED_AT = 100_000


def detect(text: str) -> str | None:
    """Return the placeholder style of a text, or None where no style is certain.

    Ask the Jinja frontend first: a bare ``{{ name }}`` is called ``mustache`` here.
    """
    text = text[:_MAX_LOOKED_AT]
    if "{{" in text and _is_mustache(text):
        return "mustache"
    prose = without_code(text)
    if "{" in prose and _BRACED.search(prose):
        return "format" if is_format(text) else "braces"
    if "%(" in prose and _PERCENT.search(prose):
        return "percent"
    if "$" in prose and _has_dollar(prose):
        return "dollar"
    if "!<" in prose and _BANG.search(prose):
        return "bang"
    if _ANGLE.search(prose) or _BRACKET.search(prose):
        return "angle"
    if "%s" in prose and _BARE_PERCENT.search(prose):
        return "percent"
    return None


def _is_mustache(text: str) -> bool:
    """Tell whether a text has names in double braces; beside what is said there, single braces are the fields."""
    tags = [match.group() for match in _MUSTACHE.finditer(_without_programs(text))]
    said = [tag for tag in tags if _SAID.fullmatch(tag)]
    if not said:
        return bool(tags)
    doubled = _BRACED.search(without_code(text)) is not None and is_format(text)
    return len(said) < len(tags) and not doubled


def brace_names(text: str) -> frozenset[str]:
    """Return the names that stand in single braces and are no code: fields of a second stage.

    A template of another language often leaves ``{steps}`` for ``str.format`` or ``str.replace``.
    """
    text = text[:_MAX_LOOKED_AT]
    if "{" not in text:
        return frozenset()
    return frozenset(match[1] for match in _BRACED.finditer(without_code(text)))


def without_code(text: str) -> str:
    """Return the prose of a text: no fenced blocks, no inline code, no f-strings, no displayed formulas."""
    if "```" in text or "~~~" in text:
        text = _FENCED_FIELD.sub(r" \2 ", text)
    if "`{" in text:
        text = _TICKED_FIELD.sub(r" \1 ", text)
    for pattern, sign in ((_FENCE, "```"), (_FENCE, "~~~"), (_INLINE, "`"), (_MATH, "\\"), (_MATH, "$$")):
        if sign in text:
            text = pattern.sub(" ", text)
    return _F_STRING.sub(" ", text) if "{" in text else text


def _without_programs(text: str) -> str:
    """Return a text without fenced programs, and without LaTeX that has its braces doubled."""
    text = _FENCED_FIELD.sub(r" \2 ", text)
    return _LATEX.sub(" ", _PROGRAM.sub(" ", text))


def is_format(text: str) -> bool:
    """Tell whether ``str.format`` would take the text: every brace is doubled or part of a field."""
    at = 0
    while at < len(text):
        opened, closed = text.find("{", at), text.find("}", at)
        at = max(opened, closed) if opened < 0 or closed < 0 else min(opened, closed)
        if at < 0:
            return True
        if text.startswith(("{{", "}}"), at):
            at += 2
        elif text[at] == "{" and (end := field_end(text, at)):
            at = end
        else:
            return False
    return True


def has_dollars(text: str) -> bool:
    """Tell whether the prose of a text has names in ``${…}`` that no shell sets."""
    return _has_braced(without_code(text[:_MAX_LOOKED_AT]))


def _has_braced(prose: str) -> bool:
    return any(match[1] not in _SHELL for match in _DOLLAR_BRACED.finditer(prose))


def _has_dollar(prose: str) -> bool:
    return _has_braced(prose) or any(match[1] not in _CODE for match in _DOLLAR.finditer(prose))

"""Pictures in front of the rules for reading them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

PARTS = """
import base64
def image(path):
    data = base64.b64encode(path.read_bytes()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
"""


def asked(program: Run, content: str) -> list[str]:
    found = program(
        {
            "parts.py": PARTS,
            "app.py": f"""
from openai import OpenAI
from parts import image
RULES = "{LONG}"
LOGO = OpenAI().pictures.logo()
def ask(path, page):
    return OpenAI().chat.completions.create(model="m", messages=[{{"role": "user", "content": [{content}]}}])
""",
        }
    )
    return [found.source(one.primary) for one in found.findings if one.code == "PL108"]


TEXT = '{"type": "text", "text": RULES}'


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (f"image(path), {TEXT}", "image(path)"),
        (f"{TEXT}, image(path)", ""),
        (f'{{"type": "input_image", "image_url": page.link}}, {TEXT}', "page.link"),
        (
            f'{{"type": "image", "source": {{"type": "base64", "data": encode(page)}}}}, {TEXT}',
            "encode(page)",
        ),
        (f'{{"type": "input_image", "image_url": f"data:{{LOGO}}"}}, {TEXT}', ""),  # the same each time
        (f'{{"type": "input_image", "image_url": "https://a.example/logo.png"}}, {TEXT}', ""),
    ],
)
def test_a_picture_is_what_a_request_is_about(program: Run, content: str, told: str) -> None:
    assert len(asked(program, content)) == bool(told)
    if told.startswith("image"):
        assert asked(program, content) == [told]  # where it is put between the texts, not in the helper


HERE = f"""
import base64
from openai import OpenAI
RULES = "{LONG}"
def image(path):
    data = base64.b64encode(path.read_bytes()).decode()
    return {{"type": "image_url", "image_url": {{"url": f"data:image/png;base64,{{data}}"}}}}
def link(page):
    return {{"type": "input_image", "image_url": upload(page)}}
class Scan:
    def block(self):
        return image(self.path)
def ask(path, scan: Scan):
    BODY
    return OpenAI().chat.completions.create(model="m", messages=[{{"role": "user", "content": content}}])
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f"content = [image(path), {TEXT}]", "image(path)"),
        (f"content = [image(path)]; content.append({TEXT})", "image(path)"),
        (f"content = []; content.append(image(path)); content += [{TEXT}]", "image(path)"),
        (f"content = [link(path), {TEXT}]", "link(path)"),
        (f"content = [scan.block(), {TEXT}]", "scan.block()"),
        (f"content = [{TEXT}]; content.append(image(path))", ""),
        (f"content = [{TEXT}, scan.block()]", ""),
    ],
)
def test_a_picture_enters_where_its_helper_is_called(program: Run, body: str, told: str) -> None:
    found = program(HERE.replace("BODY", body))
    assert [found.source(one.primary) for one in found.findings if one.code == "PL108"] == [told] * bool(told)

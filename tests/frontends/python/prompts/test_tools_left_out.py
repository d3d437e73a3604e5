"""Tools that some rounds of a conversation are sent without, decided far from the call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]

OFFERING = """
        class Policy:
            def __init__(self, most):
                self.most = most
            def offered(self, at, tools):
                if {test}:
                    return {none}
                return tools
"""
ASKING = """
        from openai import OpenAI, NOT_GIVEN
        client = OpenAI()
        def run(question, tools, policy: Policy, most):
            messages = [{{"role": "system", "content": "Be brief."}}, {{"role": "user", "content": question}}]
            for n in range(most):
                reply = client.chat.completions.create({given})
                messages.append(reply.choices[0].message)
"""
BODY = """
        def body(messages, tools, n, policy: Policy):
            body = {{"model": "m", "messages": messages}}
            have = policy.offered(n, tools)
            {put}
            return body
"""
PLAIN = "model='m', messages=messages, tools=policy.offered(n, tools)"


@pytest.mark.parametrize(
    "put", ["if have: body['tools'] = have", "if have is not None: body.update(tools=have)"]
)
@pytest.mark.parametrize(("test", "changes"), [("at >= self.most - 1", True), ("self.most < 2", False)])
def test_a_body_without_what_a_method_does_not_offer(
    program: Run, put: str, test: str, changes: bool
) -> None:
    offering = OFFERING.format(test=test, none="None")
    found = program(
        offering + BODY.format(put=put) + ASKING.format(given="**body(messages, tools, n, policy)")
    )
    assert found.seen == (["tools-changed"] if changes else [])


@pytest.mark.parametrize(
    ("test", "none", "given", "changes"),
    [
        ("at >= self.most - 1", "None", PLAIN, True),
        ("at == self.most", "[]", PLAIN, True),
        ("at >= self.most - 1", "None", f"{PLAIN} or NOT_GIVEN", True),
        ("not tools", "None", PLAIN, False),
        ("not tools", "None", f"{PLAIN} or NOT_GIVEN", False),
        ("self.most < 2", "[]", PLAIN, False),
    ],
)
def test_what_a_method_does_not_offer(program: Run, test: str, none: str, given: str, changes: bool) -> None:
    found = program(OFFERING.format(test=test, none=none) + ASKING.format(given=given))
    assert found.seen == (["tools-changed"] if changes else [])


@pytest.mark.parametrize(
    ("have", "changes"), [("tools if n < most - 1 else None", True), ("tools if debug else None", False)]
)
@pytest.mark.parametrize("options", ["**({'tools': have} if have else {})", "'tools': have or NOT_GIVEN"])
def test_a_condition_within_another(program: Run, have: str, options: str, changes: bool) -> None:
    body = f"""
        def body(messages, tools, n, most, debug):
            have = {have}
            return {{"messages": messages, {options}}}
"""
    asking = ASKING.format(given="**body(messages, tools, n, most, policy.debug)")
    found = program("        class Policy: pass\n" + asking + body)
    assert found.seen == (["tools-changed"] if changes else [])

"""Templates that a call names: the loader itself cannot be followed, its name and what it is given say enough."""

from __future__ import annotations

from collections.abc import Callable

import pytest

System = Callable[..., str]

PLAN = "In {{ place }} at {{ now }}."


@pytest.mark.parametrize(
    ("files", "call", "expected"),
    [
        (
            ["src/plans/plan.j2"],
            "prompts.load_prompt('plan', place='Rome', now=clock())",
            "In Rome at {now}.",
        ),
        (["src/plans/plan.md"], "prompts.render(template='plan.md', place='Rome')", "In Rome at {now}."),
        (["src/plans/plan.md"], "read_template('plan.md', {'place': 'Rome'})", "In Rome at {now}."),
        (["src/plans/plan.j2"], "prompts.load_prompt(f'{kind}/plan', place='Rome')", None),  # by no name
        (["src/plans/plan.j2"], "prompts.load_prompt('plan', town='Rome')", None),  # no field of it
        (["src/plans/plan.j2"], "posts.send('plan', place='Rome')", None),
        (["src/plans/plan.j2", "src/plans/plan.md"], "prompts.load_prompt('plan', place='Rome')", None),
        (["src/plans/plan.j2", "src/more/plan.j2"], "prompts.load_prompt('plan', place='Rome')", None),
    ],
)
def test_a_call_that_names_a_template_gives_it(
    system: System, files: list[str], call: str, expected: str | None
) -> None:
    found = system(
        call,
        "from loading import clock, kind, posts, prompts, read_template",
        files=dict.fromkeys(files, PLAN),
        path="src/app.py",
    )
    if expected is None:
        assert "In " not in found
    else:
        assert found.replace("now ~clock/request", "now") == expected


def test_a_folder_that_is_chosen_at_run_time_leaves_the_name(system: System) -> None:
    head = """
    from jinja2 import Environment
    from settings import model
    class Engine:
        def __init__(self, model):
            self.model, self.env = model, Environment()
        def load(self, name, **values):
            return self.env.get_template("/".join([self.model, name]) + ".j2").render(**values)
    engine = Engine(model)
    """
    found = system("engine.load('plan', place='Rome', now=3)", head, files={"prompts/big/plan.j2": PLAN})
    assert found == "In Rome at 3."


@pytest.mark.parametrize(
    ("call", "clock"),
    [
        ("client.ask(prompt)", False),  # what comes back is an answer
        ("handler(prompt=prompt)", False),
        ("shorten(prompt)", True),
    ],
)
def test_an_answer_is_made_of_no_part_of_the_prompt(system: System, call: str, clock: bool) -> None:
    found = system(
        f"f'Go on: {{{call}}}'",
        "from datetime import datetime\nfrom other import client, handler, shorten",
        body="prompt = f'Say what the weather will be like at sea tomorrow, now it is {datetime.now()}.'",
    )
    assert ("~clock" in found) is clock

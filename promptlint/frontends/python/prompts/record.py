"""Where a value becomes a prompt: calls to models, messages, template objects, telling names."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import access, audience, text
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.evaluate.opening import set_again
from promptlint.frontends.python.library import engines
from promptlint.frontends.python.prompts import acting, constants, decorated, tooling
from promptlint.frontends.python.prompts.conversing import all_held, as_turn, grows, held, stays
from promptlint.frontends.python.prompts.emit import emitter_of
from promptlint.frontends.python.prompts.keeping import Layouts
from promptlint.frontends.python.prompts.requests import request, taken
from promptlint.frontends.python.prompts.running import running
from promptlint.frontends.python.readings.heads import is_list_of_turns, turns_headed_by
from promptlint.frontends.python.readings.shapes import last_name
from promptlint.frontends.python.readings.speaking import speaks_to_a_model
from promptlint.frontends.python.values.forms import (
    holds_objects,
    is_conversation,
    is_history,
    is_message,
    is_sectioned,
    is_text,
    is_tool,
    spoken,
)
from promptlint.frontends.python.values.naming import (
    SENDS,
    called_name,
    describes_a_tool,
    gives_tools,
    holds_prompts,
    is_description,
    is_kept_back,
    is_of_a_tool,
    is_prompt_name,
    makes_tools,
    names_prompts_only,
    path_of,
    talks,
)
from promptlint.frontends.python.values.pieces import Hole, disorder, weight_of
from promptlint.frontends.python.values.values import (
    Choice,
    ClassV,
    DictV,
    FuncV,
    Item,
    ListV,
    Obj,
    Str,
    Template,
    Value,
)
from promptlint.layout import Confidence, LayoutKind, Observation, Section

if TYPE_CHECKING:
    from promptlint.frontends.python.values.arguments import Arguments


_MESSAGES = ("messages", "chat_history", "conversation")  # arguments that are looked at by these names


class Recorder(Layouts):
    """Takes what the evaluator shows, and keeps what is a prompt."""

    # ------------------------------------------------------------------ hooks of the evaluator

    def call(
        self, m: Machine, callee: Value, given: Arguments, value: Value, node: ast.Call, frame: Frame
    ) -> None:
        """A call was evaluated: is it a sink, or are its arguments named like prompts?"""
        if self.silent:
            return
        path = path_of(callee)
        if (sent := running(m, given, node, frame) or taken(m, path, given, node, frame)) is not None:
            layout = request(m, sent[0], callee, sent[1], node, frame)
            if layout is not None:
                self.add(m, layout)
            for key, argument in given.every() if sent[0].loose else ():
                if str(key) not in sent[0].arguments:
                    self.said(m, key, argument, given, node, frame)
            return
        if path and is_kept_back(path):
            return
        for key, argument in given.every():
            if isinstance(argument, (ListV, Obj)) and key not in _MESSAGES:
                by_name = isinstance(argument, ListV) and SENDS.search(called_name(node))
                turns = argument if by_name else held(argument)
                if isinstance(turns, ListV) and not audience.tells_people(node):
                    at = given.nodes.get(key, node)
                    self.message_list(m, turns.name or "messages", turns, at, frame)
            elif isinstance(argument, Str):
                self.said(m, key, argument, given, node, frame)
                if key == 0 and _sets_description(node):
                    self.described(m, argument, node, frame)
        if (said := spoken(given)) is not None:
            self.mapping(m, said, node, frame)
        for keyword, argument in given.keywords.items():
            given_to_agent = keyword == "task" and called_name(node).endswith("Agent")
            if (is_prompt_name(keyword) or given_to_agent) and is_text(argument):
                where = given.nodes.get(keyword, node)
                if not audience.tells_people(node):
                    if frame.func is None:
                        argument = constants.with_named_fields(m, argument)
                        self.constants.add(frame.module.place(where))
                    weak = not given_to_agent and _is_foreign(keyword, frame)
                    self.text(m, keyword, argument, where, frame, Confidence.MEDIUM, weak=weak)
            elif keyword in _MESSAGES and isinstance(argument, ListV) and not holds_objects(argument):
                self.message_list(m, keyword, argument, given.nodes.get(keyword, node), frame)
            elif keyword in ("tools", "functions"):
                # Whoever takes tools hands them to a model, which reads them first.
                seen = tooling.unordered(argument, frame.module.place(given.nodes.get(keyword, node)))
                if seen is not None:
                    self.observe(seen)
            elif is_description(keyword) and describes_a_tool(called_name(node), given):
                self.description(m, argument, given.nodes.get(keyword, node), frame)

    def decorated(self, m: Machine, func: FuncV, decorator: ast.expr, frame: Frame) -> Value | None:
        """A function was decorated: return the description that changes, where one is told to what makes a tool of it."""
        if self.silent or not tooling.makes_tool(decorator):
            return None
        for seen in tooling.choices(m, func, frame):
            self.observe(seen)
        if not isinstance(decorator, ast.Call):
            return None
        named = (k.value for k in decorator.keywords if k.arg is not None and is_description(k.arg))
        told = [
            self.description(m, m.evaluate(said, frame), said, frame, sure=True)
            for said in (*decorator.args[:1], *named)
            if not isinstance(said, ast.Constant)
        ]
        return next(filter(None, told), None)

    def description(
        self, m: Machine, value: Value, node: ast.expr, frame: Frame, *, sure: bool = False
    ) -> Value | None:
        """Something was described to a model: return the text if it changes, or what a function makes for each request."""
        anew = isinstance(value, FuncV)
        made = engines.called(m, value, node, frame) if anew else value
        if not isinstance(made, Str) or made.cause is None:
            return None
        self.tool_text(m, made, node, frame, sure=sure or anew)
        return made

    def said(
        self, m: Machine, key: int | str, value: Value, given: Arguments, node: ast.Call, frame: Frame
    ) -> None:
        """Keep instructions that are handed to what talks to a model by its name, however they are called."""
        if constants.is_filled(value) and talks(node):
            where = given.nodes.get(key, node)
            self.text(m, called_name(node), value, where, frame, Confidence.MEDIUM, weak=True)

    def named(self, m: Machine, name: str, value: Value, node: ast.expr, frame: Frame) -> None:
        """A name was bound; a docstring is no prompt as long as nothing sends it."""
        if self.silent or name == "__doc__":
            return
        if frame.func is None and is_text(value):
            self.constant(m, name, value, node, frame)
            return
        if not is_prompt_name(name):
            return
        if (
            isinstance(node, ast.Name)
            and frame.func is not None
            and audience.only_shown(name, frame.func.node)
        ):
            return
        if isinstance(value, (Str, Choice)):
            if not (
                isinstance(value, Str)
                and self.stages.between((frame.func, frame.cls, name), weight_of(value.parts))
            ):
                weak = _is_foreign(name, frame)
                self.text(m, name, value, node, frame, Confidence.LOW, weak=weak)
        elif (
            isinstance(value, ListV)
            and value.items
            and name.endswith(("messages", "prompt"))
            and not holds_objects(value)
        ):
            self.message_list(m, name, value, node, frame)

    def constant(self, m: Machine, name: str, value: Value, node: ast.expr, frame: Frame) -> None:
        """A name of a module or class was bound to a text: what fills its fields may be out of sight."""
        if not audience.is_refusal(name) and (
            constants.names_a_prompt(name)
            or constants.is_instruction(name, value)
            or (is_prompt_name(name) and holds_prompts(frame.module, frame.cls))
        ):
            value = constants.with_named_fields(m, value)
            self.constants.add(frame.module.place(node))
        elif not is_prompt_name(name):
            return
        turns = constants.of_an_agent(frame.module.path, frame.cls.name if frame.cls else "", name)
        # Programs and mails have such names as well: the text has to say it too.
        weak = not names_prompts_only(name)
        self.text(m, name, value, node, frame, Confidence.LOW, turns=turns, weak=weak)

    def attribute(
        self, m: Machine, owner: Obj, name: str, value: Value, node: ast.expr, frame: Frame
    ) -> None:
        """An attribute was set."""
        self.history_set(m, owner, name, value, node, frame)
        if self.silent:
            return
        self.named(m, name, value, node, frame)
        if name == "description" and isinstance(value, Str) and makes_tools(owner.cls):
            self.described(m, value, node, frame)

    def described(self, m: Machine, value: Str, node: ast.AST, frame: Frame) -> None:
        """A tool was given its description."""
        if self.silent:
            return
        if value.cause is not None or disorder(value.parts) is not None:
            self.tool_text(m, value, node, frame)

    def returned(self, m: Machine, value: Value, node: ast.Return, frame: Frame) -> None:
        """A function returned something."""
        if self.silent or frame.func is None or not isinstance(value, (Str, Template, ListV, Choice)):
            return
        name = frame.func.name
        if frame.func.decorators and (handed := decorated.handed_on(m, value, frame)) is not None:
            anew = decorated.made_anew(frame)
            self.text(m, f"system prompt of {name}", handed, node, frame, Confidence.HIGH, turns=anew)
            if anew and (moved := acting.moved_by_tools(m, frame.func)) is not None:
                self.observe(moved, handed)
            return
        if constants.adds_to_system(value):
            self.text(m, f"system prompt of {name}", value, node, frame, Confidence.MEDIUM, turns=True)
            return
        if (
            "description" in name
            and isinstance(value, Str)
            and _makes_a_tool(frame)
            and (value.cause or disorder(value.parts) is not None)
        ):
            self.tool_text(m, value, node, frame)
        elif (
            is_prompt_name(name) or ("prompt" in name and name[-6:] != "_event") or _prompt_home(frame, value)
        ):
            if isinstance(value, ListV):
                if any(is_message(i.value) for i in value.items):
                    self.message_list(m, name, value, node, frame)
            else:
                self.text(m, name, value, node, frame, Confidence.LOW)
        elif isinstance(value, ListV) and is_conversation(value):
            self.message_list(m, name, value, node, frame)
        elif (
            isinstance(value, ListV)
            and (value.items or value.kind != "set")
            and gives_tools(name)
            and not any(is_text(i.value) for i in value.items)
            and not tooling.are_types(value)
            and not tooling.gives_names(frame.func.node)
        ):
            seen = tooling.unordered(value, frame.module.place(node))
            if seen is not None:
                self.observe(seen)

    def left(self, m: Machine, frame: Frame) -> None:
        """An entry has ended: the conversations that it filled are there, whoever sends them."""
        if self.silent or frame.func is None:
            return
        func = frame.func.node
        used = (v for n, v in frame.names.items() if held(v) is not None and not audience.only_shown(n, func))
        for value in all_held(used):
            name = value.name or "messages"
            self.message_list(m, name, value, func, frame, repeated=grows(value))
        for name, mapping in frame.names.items():
            if is_prompt_name(name) and is_sectioned(mapping):
                self.text(m, name, mapping, func, frame, Confidence.LOW)

    def yielded(self, m: Machine, value: ListV, frame: Frame) -> None:
        """A generator gave messages one by one."""
        func = frame.func
        if self.silent or func is None or not (is_prompt_name(func.name) or "prompt" in func.name):
            return
        self.message_list(m, func.name, value, func.node, frame)

    def mapping(self, m: Machine, value: DictV, node: ast.expr, frame: Frame) -> None:
        """A mapping was written: a message, a tool, or fields named like prompts."""
        if self.silent:
            return
        place = frame.module.place(node)
        role, content = value.get("role"), value.get("content")
        if role is not None and content is not None:
            if frame.func is not None and audience.is_shown(node, frame.func.node):
                return
            plain = access.plain(role)
            layout = self._layout(m, f"message in {frame.where}", place, LayoutKind.PROMPT, Confidence.MEDIUM)
            of_loop = stays(node, frame)
            emitter = emitter_of(m, stays=of_loop)
            emitter.role = engines.role_of(plain) if isinstance(plain, str) else ""
            if emitter.role == "system":
                emitter.section = Section.SYSTEM
            emitter.value(content, place)
            self.add(m, layout.with_segments(as_turn(emitter.segments, stays=of_loop), emitter.gaps))
            return
        if is_tool(value):
            self.tool(m, value, place, frame)
            return
        for key, item in value.entries.items():
            if isinstance(key, str) and is_prompt_name(key) and isinstance(item.value, (Str, Template)):
                self.text(m, key, item.value, node, frame, Confidence.LOW)

    def entry(self, m: Machine, owner: DictV, key: Value, value: Value, node: ast.expr, frame: Frame) -> None:
        """An entry of a mapping was set."""
        name = access.plain(key)
        if name in ("content", "text"):
            self.edited(m, node, frame)
        if (
            not self.silent
            and isinstance(name, str)
            and is_prompt_name(name)
            and isinstance(value, (Str, Template))
        ):
            self.text(m, name, value, node, frame, Confidence.LOW)

    def opened(self, m: Machine, first: ast.expr, value: Value, node: ast.expr, frame: Frame) -> None:
        """The text of a message was set: the first of a conversation stands in front of all its turns."""
        if self.silent or not isinstance(value, Str) or value.plain() is not None:
            return
        whole = turns_headed_by(first, node, frame.func.node if frame.func is not None else None)
        if whole is None:
            return
        name, turns = last_name(whole) or "", m.evaluate(whole, frame)
        if not (is_list_of_turns(whole) or is_history(turns)):
            return
        place = frame.module.place(node)
        emitter = emitter_of(m)
        emitter.system(value, place)
        emitter.message += 1
        emitter.parts((Hole(place, name, "messages"),))
        layout = self._layout(m, f"{name} in {frame.where}", place, LayoutKind.PROMPT, Confidence.MEDIUM)
        if isinstance(first, ast.Subscript) and set_again(m, whole, turns, value, frame):
            seen = Observation(
                "history-rewritten", place, frame.module.text(node), confidence=Confidence.MEDIUM
            )
            layout = replace(layout, observations=(seen,))
        self.add(m, layout.with_segments(tuple(emitter.segments)))

    def message(self, m: Machine, value: Obj, node: ast.Call, frame: Frame) -> None:
        """A message object was made."""
        if self.silent:
            return
        place = frame.module.place(node)
        of_loop = stays(node, frame)
        emitter = emitter_of(m, stays=of_loop)
        emitter.messages(ListV([Item(value)]), place)
        layout = self._layout(m, f"message in {frame.where}", place, LayoutKind.PROMPT, Confidence.HIGH)
        self.add(m, layout.with_segments(as_turn(emitter.segments, stays=of_loop), emitter.gaps))

    def template(
        self, m: Machine, value: Template, node: ast.expr, frame: Frame, *, final: bool = False
    ) -> None:
        """A template object was made, or filled."""
        if self.silent:
            return
        place = frame.module.place(node)
        emitter = emitter_of(m)
        if value.kind == "messages":
            emitter.messages(value, place)
        else:
            emitter.role = value.role
            emitter.section = Section.SYSTEM if value.role == "system" else Section.MESSAGES
            emitter.parts(text.fill(value.parts, value.fields, None, False))
        if not any(s.text for s in emitter.segments):
            return
        foreign = value.kind in ("jinja", "engine") and not audience.is_said(emitter.segments, node, frame)
        if foreign or (value.kind == "jinja" and not final):
            return
        if audience.is_code(emitter.segments):
            return
        layout = self._layout(m, f"template in {frame.where}", place, LayoutKind.PROMPT, Confidence.HIGH)
        self.add(m, layout.with_segments(tuple(emitter.segments), emitter.gaps))

    def filled(self, m: Machine, result: Str, source: Str, node: ast.Call, frame: Frame) -> None:
        """A text was formatted: a prompt if it is long, or if its name says so."""
        name = node.func.value if isinstance(node.func, ast.Attribute) else node
        written = frame.module.text(name)
        named = "prompt" in written.lower()
        if frame.func is not None and not named and audience.only_written(node, frame.func.node):
            return
        if not (self.silent or audience.is_refusal(written)) and (
            named or source.literal_length() >= 200 or "template" in written.lower()
        ):
            weak = _is_foreign(written, frame)
            self.text(m, written, result, node, frame, Confidence.LOW, weak=weak)

    def comprehension(self, m: Machine, value: ListV, node: ast.expr, frame: Frame) -> None:
        """A list was built by a comprehension."""
        self.history_filtered(m, value, node, frame)

    def class_defined(self, m: Machine, value: Value, frame: Frame) -> None:
        """A class was defined: tools and signatures carry prompt text in their bodies."""
        if self.silent or not isinstance(value, ClassV):
            return
        namespace = value.namespace
        description = namespace.get("description")
        if (
            isinstance(description, Str)
            and ("inputs" in namespace or "name" in namespace or "args_schema" in namespace)
            and description.cause is not None
        ):
            self.tool_text(m, description, value.node, frame)


def _is_foreign(name: str, frame: Frame) -> bool:
    """Tell whether a text with a name that pages and programs have too is made where no model is spoken to."""
    return not names_prompts_only(name) and not speaks_to_a_model(frame.module)


def _makes_a_tool(frame: Frame) -> bool:
    """Tell whether a function that describes something describes a tool: tasks, datasets and checks have texts too."""
    func = frame.func
    if func is None:
        return False
    names = f"{func.name} {func.cls.name if func.cls else ''} {frame.module.path}".lower()
    return makes_tools(func.cls) or any(word in names for word in ("tool", "skill", "function", "plugin"))


def _prompt_home(frame: Frame, value: Value) -> bool:
    """Tell whether a long text is made in a class or file that says it holds prompts."""
    return isinstance(value, Str) and value.literal_length() >= 80 and holds_prompts(frame.module, frame.cls)


def _sets_description(call: ast.Call) -> bool:
    """Tell whether a call sets what a tool says of itself: ``tool.set_function_description(text)``."""
    name = called_name(call)
    return name.startswith("set") and name.endswith("description") and is_of_a_tool(ast.unparse(call.func))

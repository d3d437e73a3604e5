"""Prompts in YAML, JSON and TOML files of no known format: by keys, by file names, by what they say."""

from __future__ import annotations

from dataclasses import dataclass, field

from promptlint.frontends.base import Context
from promptlint.frontends.documents import (
    crewai,
    evidence,
    keys,
    langchain,
    messages,
    requests,
    roles,
    semantic_kernel,
)
from promptlint.frontends.documents.content import read_content
from promptlint.frontends.documents.draft import Draft
from promptlint.frontends.documents.nodes import DictNode, Entry, ListNode, Node, place_of
from promptlint.frontends.mapped import MappedText
from promptlint.frontends.roles import SYSTEM_ROLES
from promptlint.layout import Confidence, Layout

_MAX_ROWS = 30
_MAX_RECORDED = 12
_LONG = 120


def read(node: Node, path: str, context: Context, *, certain: bool = False) -> list[Layout]:
    """Return the prompts of a data file; ``path`` is its shown name, ``certain`` that it holds prompts."""
    is_named = certain or evidence.is_named_prompt(path)
    finder = _Finder(path, context, is_named, evidence.is_data(path) and not certain)
    finder.visit(node, (), finder.is_named)
    return finder.layouts


@dataclass(slots=True)
class _Finder:
    path: str
    context: Context
    is_named: bool  # the file is named after prompts
    is_data: bool  # the file lies among recorded data
    layouts: list[Layout] = field(default_factory=list)
    model: str = ""

    def visit(self, node: Node, trail: tuple[str, ...], inside: bool) -> None:
        """Look through a node; ``inside`` tells that a key or file name above speaks of prompts."""
        if isinstance(node, ListNode):
            self.visit_list(node, trail, inside)
        elif isinstance(node, DictNode):
            self.visit_mapping(node, trail, inside)

    def visit_list(self, node: ListNode, trail: tuple[str, ...], inside: bool) -> None:
        if messages.is_message_list(node):
            self.take_messages(node, trail)
            return
        if len(node.items) > _MAX_ROWS and not self.is_named:
            return  # rows of a data set
        for index, item in enumerate(node.items):
            label = keys.label_of(item) or str(index)
            if isinstance(item, MappedText):
                self.take_text(item, (*trail, label), "", inside)
            elif not (isinstance(item, DictNode) and keys.is_row(item)):
                self.visit(item, (*trail, label), inside)

    def visit_mapping(self, node: DictNode, trail: tuple[str, ...], inside: bool) -> None:
        name = ".".join(trail)
        if crewai.matches(node):
            self.layouts.append(crewai.read(node, name, self.context))
        elif semantic_kernel.matches(node):
            self.layouts += semantic_kernel.read_function(node, name, self.context)
        elif langchain.matches(node):
            self.layouts += langchain.read(node, name, self.context)
        elif (body := requests.find(node)) is not None:
            self.take_request(body, name)
        elif keys.is_schema(node):
            return
        else:
            outer, self.model = self.model, node.text("model", "model_name") or self.model
            self.visit_entries(node, trail, inside)
            self.model = outer

    def visit_entries(self, node: DictNode, trail: tuple[str, ...], inside: bool) -> None:
        paired: set[str] = set()
        for group in keys.conversations(node):
            self.take_pair(group, trail)
            paired.update(entry.name for entry in group)
        speaks = any(
            keys.is_spoken(entry.name) and isinstance(entry.value, MappedText) for entry in node.distinct()
        )
        for entry in node.distinct():
            if entry.name in paired or keys.is_answer(entry.name, entry.value):
                continue
            spoken = keys.is_spoken(entry.name) or (speaks and keys.is_template(entry))
            if isinstance(entry.value, MappedText):
                self.take_text(entry.value, (*trail, entry.name), entry.name, inside, spoken)
            else:
                self.visit(
                    entry.value, (*trail, entry.name), inside or (spoken and not keys.is_interface(entry))
                )

    def take_text(
        self, text: MappedText, trail: tuple[str, ...], key: str, inside: bool, spoken: bool = False
    ) -> None:
        """Make a layout of a value if its key, or the place where it stands, and its words agree."""
        sure = spoken or (not inside and keys.is_vague(key, text.text))
        if not (sure or (inside and not keys.is_about(key, text.text))) or not self.is_prose(text.text, sure):
            return
        draft = self.draft(".".join(trail), text)
        draft.confidence = Confidence.HIGH if spoken or self.is_named else Confidence.MEDIUM
        if (chat := messages.embedded(text)) is not None:
            messages.add(draft, chat)
        elif roles.has_roles(text.text):
            draft.add(roles.split(draft.take(read_content(text, self.context)), text))
        else:
            draft.message(keys.role_of_key(key), text)
        self.layouts.append(draft.layout())

    def is_prose(self, text: str, sure: bool) -> bool:
        """Tell a prompt from a name, a path, a label for people, or a row of data; ``sure`` asks for less."""
        stripped = text.strip()
        if not evidence.has_words(stripped) or evidence.is_reference(stripped):
            return False
        if evidence.has_fields(text):
            return not self.is_data or sure
        if self.is_data:
            return False
        if evidence.is_addressed(text):
            return sure or len(stripped) > _LONG // 2
        return len(stripped) > _LONG and (sure or "\n" in stripped)

    def take_messages(self, node: ListNode, trail: tuple[str, ...]) -> None:
        """Make a layout of a message list, unless it is a conversation that was recorded."""
        draft = self.draft(".".join(trail), node)
        messages.add(draft, node)
        has_holes = any(segment.is_hole for segment in draft.segments)
        has_system = any(segment.role in SYSTEM_ROLES for segment in draft.segments)
        if (self.is_data and not self.is_named) or messages.is_recorded(node):
            return
        if has_holes or (has_system and len(node.items) <= _MAX_RECORDED):
            draft.confidence = Confidence.HIGH if has_system else Confidence.MEDIUM
            self.layouts.append(draft.layout())

    def take_request(self, body: DictNode, name: str) -> None:
        if self.is_data and not self.is_named:
            return
        layout = requests.read(body, name, self.context)
        recorded = len(layout.segments) > _MAX_RECORDED and not any(s.is_hole for s in layout.segments)
        if layout.segments and not (recorded and any(s.role == "assistant" for s in layout.segments)):
            self.layouts.append(layout)

    def take_pair(self, group: list[Entry], trail: tuple[str, ...]) -> None:
        """Make one layout of texts that are sent together: system first, then what the user says."""
        texts = [entry.value for entry in group if isinstance(entry.value, MappedText)]
        if not any(self.is_prose(text.text, True) for text in texts):
            return
        draft = self.draft(".".join((*trail, keys.stem_of(group[0].name))).strip("."), texts[0])
        for entry, text in zip(group, texts, strict=True):
            draft.message(keys.role_of_key(entry.name), text)
        self.layouts.append(draft.layout())

    def draft(self, name: str, node: Node) -> Draft:
        draft = Draft(name or self.path.rpartition("/")[2].partition(".")[0], place_of(node), self.context)
        draft.model, draft.provider = self.model, requests.provider_of_model(self.model)
        return draft

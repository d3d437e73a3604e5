"""What names say: of values, of what is called, and of what is given to it."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

from promptlint.frontends.python.syntax.nodes import remembered
from promptlint.frontends.python.values.values import Choice, ClassV, Ext, Unknown, Value

if TYPE_CHECKING:
    from promptlint.frontends.python.values.arguments import Arguments
    from promptlint.frontends.python.values.modules import Module

PROMPT_NAME = re.compile(
    r"(^|_)(prompt|prompts|instruction|instructions|preamble|persona|personality)(_|$|\d)|system_?(message|msg|text|content)|"
    r"(^|_)(template)$|[a-z](Prompt|Instructions)\b|(^|_)(sys|system)$"
)
NOT_PROMPT_NAME = re.compile(
    r"(^|_)(path|file|dir|name|names|id|ids|key|keys|tokens|count|length|len|hash|cache|version|type|types|url|html|sql|query_template|config|"
    r"manager|class|cls|list|dict|map|size|index|format|events?)$|email|html|subject"
)
_OF_PROMPTS_ONLY = re.compile(r"prompt|instruction|persona|system|(^|_)sys($|_)")
# Calls whose text arguments are not sent to a model, whatever their names say.
NOT_SENT = re.compile(
    r"^(builtins\.(print|open|input|isinstance|len|Exception|ValueError)|logging\.|log\.|logger\.|.*\.(debug|info|warning|warn|error|exception|critical|"
    r"write|write_text|write_bytes|execute|add_argument|print|echo|assert\w*|raises|match|compile|sub|search|emit|send_json|send_text|notify|track|"
    r"capture|set_attribute|add_row|markdown|header|caption))$|Error$|Exception$"
)

# Others keep histories too: of what was called, run, typed, built or searched for.
OTHER_HISTORY = re.compile(
    r"(?:call|run|job|failure|error|request|login|search|browse\w*|command|input|tool_name|build|price|version|undo|git|token)s?_hist|"
    r"(?<!chat_)(?<![a-z])logs?_",  # ``log_messages``, and no ``chat_log_messages``
    re.IGNORECASE,
)

# Names of the turns of a conversation.
HISTORY = re.compile(
    rf"^(?!.*(?:{OTHER_HISTORY.pattern}))"
    r"(?!.*(?:queued|pending|unread)_)"  # nothing of them was sent
    r"(?:.*[._])?(messages|history(_(items|messages|entries|list|turns))?|hist|turns|conversation|transcript|dialog(ue)?|chat_history|"
    r"msgs|chat_log|convo|to_input_list)\d*(\[\])*$",
    re.IGNORECASE,
)

# Loops over what is said or done one after another; other collections are data, each element for itself.
_OVER_TURNS = re.compile(
    r"turn|step|round|iteration|cycle|episode|message|utterance|question|quer(y|ies)|user_?input|stdin|\bline",
    re.IGNORECASE,
)
RETRIES = re.compile(r"retr(y|ies)|attempt|tries\b", re.IGNORECASE)
# What calls that send a conversation name it by.
SENT_AS = frozenset({"messages", "contents", "input", "chat_history", "message_history"})
# Names of calls that take the messages of a request, of whatever class they are.
SENDS = re.compile(r"chat|complet|generate|invoke|llm|predict|respon[ds]|converse|ask", re.IGNORECASE)


@cache
def is_prompt_name(name: str) -> bool:
    """Tell whether a name says that its value is a prompt."""
    return bool(
        PROMPT_NAME.search(name if name.islower() else name.lower() if name.isupper() else name)
    ) and not NOT_PROMPT_NAME.search(name.lower())


@cache
def names_prompts_only(name: str) -> bool:
    """Tell whether nothing but a prompt is called so: programs, mails and pages have templates and preambles too."""
    return _OF_PROMPTS_ONLY.search(name.lower()) is not None


@cache
def is_kept_back(path: str) -> bool:
    """Tell whether what is called sends none of its arguments to a model, by its dotted path."""
    return NOT_SENT.search(path) is not None


def path_of(callee: Value) -> str:
    """Return the dotted path of what is called; what stands under a key is called by it: ``parts["store"].search``."""
    if isinstance(callee, Unknown) and "[]" in callee.path and "[]" not in callee.name and "." in callee.name:
        return callee.name
    if isinstance(callee, (Ext, Unknown)):
        return callee.path
    if isinstance(callee, Choice):
        return path_of(callee.values[0])
    return ""


def called_name(node: ast.Call) -> str:
    """Return the last name of what a call calls."""
    func = node.func
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


# Names of what answers a text that it is handed: `agent.run(task)`, `self.model(text)`, `computer.ai.chat(query)`.
_TALKER = re.compile(
    r"(?:^|[._])(?:llm|lm|ai|gpt|claude|gemini|agent|assistant|bot|chatbot|model)"
    r"(?:\.a?(?:run|call|query|send|step|execute|process|reply|answer|prompt|act|think)\w*)?$",
    re.IGNORECASE,
)


def talks(node: ast.Call) -> bool:
    """Tell whether what is called, or the object whose method it is, is named like what talks to a model."""
    return SENDS.search(called_name(node)) is not None or _TALKER.search(ast.unparse(node.func)) is not None


# Methods in which an object is made: what they set is there from the start.
CONSTRUCTORS = ("__init__", "__post_init__", "model_post_init")
# Fields of a block that a cache mark is written in.
MARKERS = ("cache_control", "cachePoint", "cache_point", "prompt_cache_breakpoint")
_CACHE_MARK = re.compile(r"cache_?(?:control|point|mark|breakpoint)", re.IGNORECASE)


@remembered
def is_about_marks(node: ast.AST) -> bool:
    """Tell whether something sets cache marks or takes them off, which changes no turn."""
    return tells_of_marks(ast.unparse(node))


def tells_of_marks(text: str) -> bool:
    """Tell whether a piece of a program has to do with cache marks."""
    return _CACHE_MARK.search(text) is not None


_TOOL = re.compile(r"tool|function|action|skill|plugin|declaration|schema|field|param|agent", re.IGNORECASE)
_MAKES_TOOL = re.compile(r"(^|_)(tool|skill|plugin|function|action|ability|command)(_plain)?$", re.IGNORECASE)
_TOOLS = re.compile(r"(tool|skill)(s|set|kit)?$", re.IGNORECASE)
_GIVES_TOOLS = re.compile(r"(^|_)tools(_(definitions|schemas?|specs?|params?|list))?$", re.IGNORECASE)
_OF_TOOL = frozenset(
    (
        *("func", "fn", "function", "coroutine", "callback", "handler", "on_invoke_tool"),
        *("parameters", "args_schema", "input_schema", "inputSchema", "params_json_schema", "inputs"),
    )
)


def describes_a_tool(called: str, given: Arguments) -> bool:
    """Tell whether a call with a description makes a tool, or a field of one: tasks and settings have some too."""
    return _TOOL.search(called) is not None or not _OF_TOOL.isdisjoint(given.keywords)


def is_of_a_tool(written: str) -> bool:
    """Tell whether a piece of a program is about tools or their parts: ``schema["function"]``, ``tool.set_description``."""
    return _TOOL.search(written) is not None


def is_description(keyword: str) -> bool:
    """Tell whether an argument says what something is for: ``description=…``, ``describe=…``, ``description_override=…``."""
    return keyword.startswith("descri")


def is_tool_maker(called: str) -> bool:
    """Tell whether a decorator makes a tool of a function, by its name: ``function_tool``, ``kernel_function``, ``skill``."""
    return _MAKES_TOOL.search(called) is not None


def gives_tools(function: str) -> bool:
    """Tell whether a function gives the tools that a model is told of, by its name: ``get_tools``, ``build_tools``."""
    return _GIVES_TOOLS.search(function) is not None


def makes_tools(cls: ClassV | None) -> bool:
    """Tell whether the objects of a class are tools, by its name, its bases, or what it has beside a description."""
    return cls is not None and any(
        not _OF_TOOL.isdisjoint(one.namespace)
        or any(_TOOLS.search(name) for name in (one.name, *one.external))
        for one in cls.mro()
    )


def is_over_turns(loop: str) -> bool:
    """Tell whether what a loop runs over is named like turns; by what it is sorted says nothing of what it is."""
    over = loop.partition(", key=")[0]
    return _OVER_TURNS.search(over) is not None and not RETRIES.search(over)


def goes_on(kind: str, expression: str) -> bool:
    """Tell whether a loop, as a condition of that kind, is one in which a conversation goes on."""
    if kind == "for":
        return is_over_turns(expression)
    return kind == "while" and not RETRIES.search(expression)


def holds_prompts(module: Module, cls: ClassV | None) -> bool:
    """Tell whether the name of a file or class says that prompts are made in it."""
    stem = module.path.rsplit("/", 1)[-1]
    return "prompt" in stem.lower() or (cls is not None and "prompt" in cls.name.lower())


_GENERICS = frozenset(
    (
        *(f"builtins.{name}" for name in ("list", "dict", "set", "tuple", "frozenset")),
        *(f"collections.{name}" for name in ("deque", "defaultdict")),
    )
)


def is_generic(path: str) -> bool:
    """Tell whether an outside name is that of a class that takes types: ``list[str]()``, ``Task[Plan](…)``."""
    last = path.rpartition(".")[2]
    return path in _GENERICS or (last[:1].isupper() and not last.isupper())

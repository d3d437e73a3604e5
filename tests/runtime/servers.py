"""Small servers for tests: an OpenAI-compatible engine with a cache of its own, and a hosted API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Engine:
    """Counts hits as vLLM does, by comparing whole prompts, not by the classes under test."""

    def __init__(
        self, block: int = 4, *, wrong_by: int = 0, can_reset: bool = True, replicas: int = 1
    ) -> None:
        self.block = block
        self.replicas = replicas
        self.wrong_by = wrong_by
        self.can_reset = can_reset
        self.seen: list[tuple[str, list[int]]] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.queries = self.hits = 0
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        self.parties: threading.Barrier | None = None  # requests that wait for one another

    def serve(self, body: dict[str, Any]) -> tuple[int, int, list[int]]:
        """Return prompt tokens, cached tokens and the answer's ids."""
        self.bodies.append(body)
        prompt = body.get("prompt") or self.tokenize(body)
        tokens = list(map(ord, prompt)) if isinstance(prompt, str) else prompt
        salt = body.get("cache_salt", "")
        shared = max((same(tokens, other) for s, other in self.seen if s == salt), default=0)
        hit = min(shared, len(tokens) - 1) // self.block * self.block
        limit = body.get("max_tokens") or body.get("max_output_tokens") or 1
        output = [(sum(tokens) + i) % 50 for i in range(limit)]
        self.seen.append((salt, (tokens + output)[:-1]))
        self.queries += len(tokens)
        self.hits += hit
        return len(tokens), max(0, hit - self.wrong_by), output

    def tokenize(self, body: dict[str, Any]) -> list[int]:
        if "prompt" in body:
            return list(map(ord, body["prompt"]))
        messages = body.get("messages") or body.get("input")
        text = "".join(f"<{m['role']}>{m['content']}" for m in messages)
        return list(map(ord, body.get("system", "") + text))

    def metrics(self) -> str:
        return (
            "# HELP x y\n"
            + "".join(
                f'vllm:cache_config_info{{block_size="{self.block}",engine="{n}",num_gpu_blocks="1000",x="a,\\"b"}} 1.0\n'
                for n in range(self.replicas)
            )
            + f'vllm:prefix_cache_queries_total{{engine="0"}} {self.queries}.0\n'
            f'vllm:prefix_cache_hits_total{{engine="0"}} {self.hits}.0\n'
        )


def same(left: list[int], right: list[int]) -> int:
    count = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return count


def openai_events(path: str, prompt: int, cached: int, output: list[int]) -> list[dict[str, Any]]:
    if path.endswith("responses"):
        usage = {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": 1,
        }
        return [
            {"type": "response.created"},
            {"type": "response.output_text.delta", "delta": "x"},
            {"type": "response.completed", "response": {"usage": usage}},
        ]
    if path.endswith("messages"):
        usage = {
            "input_tokens": prompt - cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
        }
        return [
            {"type": "message_start", "message": {"usage": usage}},
            {"type": "content_block_delta", "delta": {"text": "x"}},
        ]
    usage = {
        "prompt_tokens": prompt,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens": len(output),
    }
    chat = "chat" in path
    head = [{"choices": [{"delta": {"role": "assistant", "content": ""}}]}] if chat else []
    tokens = [
        {"choices": [{"text": "x", "delta": {"content": "x"}, "token_ids": [token]}]} for token in output
    ]
    return [*head, *tokens, {"choices": [], "usage": usage}]


@contextmanager
def running(
    engine: Engine, *, vllm: bool = True, llama: bool = False, fault: str = "", good: int = 0
) -> Iterator[str]:
    """Serve an engine on a free port; give its URL. After ``good`` answers it has the fault."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

        def answer(self, status: int, data: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            if self.path == "/metrics" and vllm:
                self.answer(200, engine.metrics().encode(), "text/plain")
            elif self.path == "/v1/models":
                self.answer(200, b'{"data": [{"id": "m"}]}')
            elif self.path == "/props" and llama:
                self.answer(200, b'{"total_slots": 1}')
            else:
                self.answer(404, b"{}")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            engine.headers.append({k.lower(): v for k, v in self.headers.items()})
            if self.path == "/tokenize" and vllm:
                self.answer(200, json.dumps({"tokens": engine.tokenize(body)}).encode())
            elif self.path == "/reset_prefix_cache" and vllm and engine.can_reset:
                engine.seen.clear()
                self.answer(200, b'{"success": true}')
            elif self.path.startswith("/v1/"):
                self.stream(body)
            else:
                self.answer(404, b'{"detail": "not found"}')

        def stream(self, body: dict[str, Any]) -> None:
            if body["model"] != "m":
                self.answer(400, b'{"error": {"message": "no such model"}}')
                return
            with engine.lock:
                engine.at_once += 1
                engine.most_at_once = max(engine.most_at_once, engine.at_once)
                events = openai_events(self.path, *engine.serve(body))
            data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
            if engine.parties is not None:
                engine.parties.wait(5)
            with engine.lock:
                engine.at_once -= 1
            if fault and len(engine.bodies) > good:
                self.fail(data)
            else:
                self.answer(200, data + b"data: [DONE]\n\n", "text/event-stream")

        def fail(self, data: bytes) -> None:
            if fault == "500":
                self.answer(500, b"<html>no\nroom</html>", "text/html")
            elif fault == "page":
                self.answer(200, b"<html>welcome</html>", "text/html")
            elif fault == "broken":
                self.answer(200, b"data: {nonsense\n\n", "text/event-stream")
            elif fault == "list":
                self.answer(200, b"data: [1, 2]\n\n", "text/event-stream")
            elif fault == "error":
                self.answer(200, b'data: {"error": {"message": "out of room"}}\n\n', "text/event-stream")
            elif fault == "short":
                self.answer(200, data, "text/event-stream")  # in good order, and not finished
            elif fault == "cut":
                self.send_response(200)
                self.send_header("content-length", str(len(data) + 1000))
                self.end_headers()
                self.wfile.write(data)
                self.close_connection = True
            elif fault == "hang":
                stop.wait(5)

    stop = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        stop.set()
        server.shutdown()
        server.server_close()
        thread.join()

"""Caches run over a log, request by request: engines, plain policies, hosted APIs, replicas."""

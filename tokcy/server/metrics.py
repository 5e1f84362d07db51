"""What the server counts, for Prometheus.

Names follow those of NVIDIA Dynamo's frontend where it has such a thing, with ``tokcy_`` in place
of ``dynamo_frontend_``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from tokcy.prefix_metrics import PrefixCacheCollector
from tokcy.server.models import ServedModel

__all__ = ["Metrics"]

#: Seconds; a small request takes tens of microseconds, a megabyte tens of milliseconds.
_BUCKETS = tuple(unit * 10**exponent for exponent in range(-5, 1) for unit in (1.0, 2.5, 5.0))


class Metrics:
    """The counters of one server, in a registry of their own."""

    def __init__(
        self, models: Iterable[ServedModel], prefixes: PrefixCacheCollector | None = None
    ) -> None:
        """Register them.

        Args:
            models: those that are served.
            prefixes: reads their prefix cache.
        """
        self.registry = CollectorRegistry()
        self.requests = self._counter(
            "requests", "Requests answered, by status", ["endpoint", "model", "status"]
        )
        self.seconds = Histogram(
            "tokcy_tokenize_seconds",
            "Time that the tokenizer took for a request",
            ["endpoint", "model"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.tokens = self._counter("tokens", "Ids that came or went", ["endpoint", "model"])
        self.bytes = self._counter("request_bytes", "Bytes of bodies read", ["endpoint"])
        self.fallbacks = self._counter(
            "fallback_requests", "Requests done by Hugging Face tokenizers", ["model", "reason"]
        )
        self.inflight = Gauge(
            "tokcy_inflight_requests", "Requests being served", registry=self.registry
        )
        self.registry.register(_ModelCollector(tuple(models)))
        if prefixes is not None:
            self.registry.register(prefixes)

    def _counter(self, name: str, text: str, labels: list[str]) -> Counter:
        return Counter(f"tokcy_{name}", text, labels, registry=self.registry)

    def render(self) -> bytes:
        """All of it as text, in Prometheus's format 0.0.4."""
        text: bytes = generate_latest(self.registry)
        return text


class _ModelCollector:
    """Who runs each model, and its merge cache, asked when somebody looks."""

    def __init__(self, models: tuple[ServedModel, ...]) -> None:
        self._models = models

    def collect(self) -> Iterator[Any]:
        info = GaugeMetricFamily(
            "tokcy_model_info",
            "1 for each model: who does its work, and why if that is a fallback",
            labels=["model", "backend", "fallback_reason"],
        )
        for model in self._models:
            tok = model.tokenizer
            info.add_metric([model.name, tok.backend, tok.fallback_reason or ""], 1)
        yield info
        kinds = {"hits": CounterMetricFamily, "misses": CounterMetricFamily}
        for key in ("hits", "misses", "entries", "bytes"):
            family = kinds.get(key, GaugeMetricFamily)(
                f"tokcy_merge_cache_{key}", f"The merge cache's {key}", labels=["model"]
            )
            for model in self._models:
                cache = model.tokenizer.cache_info()
                if key in cache:
                    family.add_metric([model.name], cache[key])
            yield family

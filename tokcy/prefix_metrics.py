"""The counts of a `PrefixCache` for Prometheus; needs prometheus_client (the extra ``server``).

Names are those of NVIDIA Dynamo's frontend, with ``tokcy_`` in place of ``dynamo_frontend_``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from tokcy.prefix_cache import PrefixCache

__all__ = ["PrefixCacheCollector"]

_TOTALS = {
    "hits": "Texts of which a beginning was in the prefix cache",
    "misses": "Texts of which nothing was in the prefix cache",
    "evictions": "Pieces of text that had to leave the prefix cache for others",
}
_TOKENS = {
    "cached_tokens": "Ids that came from the prefix cache",
    "uncached_tokens": "Ids that had to be made",
}
_SIZES = {
    "entries": "Pieces of text in the prefix cache",
    "bytes": "Memory that the prefix cache uses",
    "max_bytes": "Memory that the prefix cache may use",
}


class PrefixCacheCollector:
    """Reads a cache whenever Prometheus asks: ``REGISTRY.register(PrefixCacheCollector(cache))``.

    Args:
        cache: what to show.
        names: `Tokenizer.source` → the value of the label ``model``, by default the same.
    """

    def __init__(self, cache: PrefixCache, names: Mapping[str, str] | None = None) -> None:
        self._cache = cache
        self._names = dict(names or {})

    def collect(self) -> Iterator[Metric]:
        info = self._cache.info()
        for key, text in _TOTALS.items():
            yield CounterMetricFamily(f"tokcy_tokenizer_cache_{key}", text, value=info[key])
        for key, text in _SIZES.items():
            yield GaugeMetricFamily(f"tokcy_tokenizer_cache_{key}", text, value=info[key])
        by_source = self._cache.info_by_source()
        for key, text in _TOKENS.items():
            family = CounterMetricFamily(f"tokcy_tokenizer_cache_{key}", text, labels=["model"])
            totals: dict[str, int] = {}
            for source, counts in by_source.items():
                name = self._names.get(source, source)
                totals[name] = totals.get(name, 0) + counts[key]
            for name, total in totals.items():
                family.add_metric([name], total)
            yield family

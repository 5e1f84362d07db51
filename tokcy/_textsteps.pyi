from typing import final

from typing_extensions import Self

from tokcy.spec.plan_decode import TextStep

@final
class TextSteps:
    def __new__(cls, steps: tuple[TextStep, ...], byte_level: bool) -> Self: ...
    @property
    def n_steps(self) -> int: ...
    @property
    def by_place(self) -> bool: ...
    @property
    def by_last(self) -> bool: ...

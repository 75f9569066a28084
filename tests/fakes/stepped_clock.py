"""A clock that stands still until a test moves it."""

from dataclasses import dataclass


@dataclass(slots=True)
class SteppedClock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def step(self, seconds: float) -> None:
        self.now += seconds

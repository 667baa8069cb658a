"""Which core the server gets and which the load."""

from dataclasses import dataclass

from navi.bench.processes import cores


@dataclass(frozen=True, slots=True)
class Placement:
    """server, load: core numbers; the same one where the machine has no other."""

    server: int
    load: int

    @classmethod
    def here(cls) -> "Placement":
        """The first and the last of the cores that this process may use."""
        found = cores()
        return cls(found[0], found[-1])

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers has to know."""
        if self.server == self.load:
            return [f"server and load shared core {self.server}, the only one: latencies and rates are too poor"]
        return [f"server on core {self.server}, load on core {self.load}"]

"""What a server has more of where its models come and go."""

from collections.abc import Callable
from dataclasses import dataclass

from navi.server.admin_service import AdminService
from navi.server.engine import Engine
from navi.server.facts import ServerFacts


@dataclass(frozen=True, slots=True)
class Changing:
    """engine: gives each call its pipelines. admin: what operators ask. facts: as they are now."""

    engine: Engine
    admin: AdminService
    facts: Callable[[], ServerFacts]

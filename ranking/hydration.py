"""The user's features, fetched once a query."""

from candidates.context import Context
from navi.core.errors import InvalidArgument, StoreError, Unavailable
from navi.core.query import Query
from ranking.runner import Outcome, Runner
from ranking.steps import Steps

STAGE = "user"


def hydrate(run: Runner, query: Query, steps: Steps) -> Context:
    """The context in which the query is ranked. An unknown or anonymous user has no features, and is served.

    A store that fails leaves the user without features, which is reported; but where a filter reads them the query
    ends as Unavailable, since what that filter hides would show.
    """
    users, key = steps.users, query.user
    if users is None or key is None:
        return Context(query, steps.table)

    def fetch() -> Outcome[Context]:
        (row,) = users.get_many([key])
        return Outcome(Context(query, steps.table, row or {}, row is not None), 0 if row is None else 1)

    try:
        return run.required(STAGE, 1, fetch)
    except InvalidArgument as error:
        raise InvalidArgument("user", error.problem) from error
    except StoreError as error:
        if any(entry.uses_user for entry in steps.filters):
            raise Unavailable(f"the feature store of users failed, and filters need it: {error}") from error
        run.degrade(STAGE, "failed", str(error), rows=1)
        return Context(query, steps.table)

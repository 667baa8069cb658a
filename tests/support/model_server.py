"""A Navi of models that give back what they get, one a datatype, for clients that no one here wrote.

python tests/support/model_server.py [HOST:PORT]
"""

import sys

from servables import DTYPES, Shelf, echo, sums

from navi.server.inference.models import Models
from navi.server.serve import serve
from navi.server.server import Server
from navi.server.settings import ServerSettings


def model_server(address: str = "127.0.0.1:0") -> Server:
    shelf = Shelf([*(echo(name, dtype) for name, dtype in DTYPES.items()), sums()])
    settings = ServerSettings(address=address, http_address="", max_connection_age_s=0)
    return Server(settings, {}, {}).serving(Models(shelf))


if __name__ == "__main__":
    chosen = model_server(*sys.argv[1:2])
    serve(chosen, lambda ports: sys.stderr.write(f"ready on port {ports.grpc}\n"))

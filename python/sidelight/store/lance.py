"""How does LanceDB come in? The one import of it, without the remote client it brings along.

Half of the time that `import lancedb` takes goes into the HTTP client of its namespaces (hundreds of
checked methods of `lance_namespace_urllib3_client.api`), which no local table ever calls. That
package is put in place unopened; its submodules import as always, and the first look at anything
else in it opens it as if nothing had been done.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

# Lance reports retries and index notices on standard error, where only our own lines belong.
os.environ.setdefault("LANCEDB_LOG", "error")
# Lance reads ahead 2 GiB in batches of 8,192 rows: compacting 147,000 passages took 480 MB and kept
# most of it. With batches of 1,024 rows, 64 MiB and two arenas (`upkeep.share_arenas`) it was 270.
os.environ.setdefault("LANCE_DEFAULT_BATCH_SIZE", "1024")
os.environ.setdefault("LANCE_DEFAULT_IO_BUFFER_SIZE", str(32 << 20))


def leave_unopened(package: str) -> None:
    """Puts a package in place whose own code runs at the first look at one of its names.

    Submodules of it can be imported without that. Does nothing where the package is missing or
    was imported already.
    """
    spec = None if package in sys.modules else importlib.util.find_spec(package)
    if spec is None or spec.loader is None or spec.submodule_search_locations is None:
        return
    loader = spec.loader
    module: ModuleType = importlib.util.module_from_spec(spec)

    def open_it(name: str) -> Any:
        if vars(module).pop("__getattr__", None) is not None:
            loader.exec_module(module)
        try:
            return vars(module)[name]
        except KeyError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    vars(module)["__getattr__"] = open_it  # PEP 562
    sys.modules[package] = module


leave_unopened("lance_namespace_urllib3_client")

import lancedb  # noqa: E402 - after the package above
from lancedb.index import FTS  # noqa: E402
from lancedb.query import BooleanQuery, MatchQuery, Occur  # noqa: E402

__all__ = ["FTS", "BooleanQuery", "MatchQuery", "Occur", "lancedb"]

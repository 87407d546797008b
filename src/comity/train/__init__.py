"""Training: experiments as values, the jitted loop, run folders, seeds in parallel.

`comity.train` is this package and, for users, a function: whichever import came first, calling it trains.
"""

import importlib
import sys
import types
from typing import Any


class _CallablePackage(types.ModuleType):
    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        return importlib.import_module("comity.api").train(*arguments, **settings)


sys.modules[__name__].__class__ = _CallablePackage

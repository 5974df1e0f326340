"""Where an error was raised: the file and line that a user can go to."""

from __future__ import annotations

import os
from types import TracebackType

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILT = os.path.join("src", "congenial", "")  # compiled code gives its path as it was when the package was built
LIBRARY = os.path.dirname(os.path.abspath(os.__file__))  # with the packages installed there


def place_of(error: BaseException) -> str:
    """'own.py, line 12, in receive': the innermost place in a user's code, or nothing if there is none."""
    found = ""
    step: TracebackType | None = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        path: str = code.co_filename
        if not path.startswith((HERE, BUILT, LIBRARY, "<frozen")):
            found = f"{os.path.basename(path)}, line {step.tb_lineno}, in {code.co_name}"
        step = step.tb_next
    return found


def told(error: BaseException) -> str:
    """What an error of unknown origin says, and where it was raised."""
    place = place_of(error)
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{said} ({place})" if place else said

"""Self-contained pages: one HTML file with the front end and a run in it. It needs no server and no network.

The front end is plain ES modules in `page/`, which the server hands out as they are. For a page of its own they are put
one after the other into a single script, those that are imported first; so the top-level names of all modules must
differ, and every import must be `import { a, b } from "./module.js";`. The page's policy allows that script and that
style by their digests, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from html import escape
from pathlib import Path

import msgspec

from congenial.kernel.errors import ConfigError
from congenial.studio.document import run_document
from congenial.studio.recording import Recording
from congenial.studio.states import states_document
from congenial.trace_files import why

FRONT_END = Path(__file__).parent / "page"
ENTRY = "main.js"
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(?P<module>\w+\.js)";\n', re.MULTILINE)


def template() -> str:
    """The page, with places for policy, style, data and script."""
    return (FRONT_END / "index.html").read_text(encoding="utf-8")


def modules(entry: str = ENTRY) -> list[str]:
    """A module and all that it imports, those that are imported first."""
    found: list[str] = []
    _add_module(entry, found, [])
    return found


def _add_module(name: str, found: list[str], above: list[str]) -> None:
    if name in above:
        raise ValueError(f"modules import each other: {' -> '.join([*above, name])}")
    text = (FRONT_END / name).read_text(encoding="utf-8")
    for imported in IMPORT.finditer(text):
        if imported["module"] not in found:
            _add_module(imported["module"], found, [*above, name])
    if name not in found:
        found.append(name)


@cache
def bundle() -> str:
    """All modules as one script."""
    parts = []
    for name in modules():
        text = IMPORT.sub("", (FRONT_END / name).read_text(encoding="utf-8"))
        parts.append(re.sub(r"^export (?=class |function |const |async )", "", text, flags=re.MULTILINE))
    return "".join(parts)


def page(recording: Recording, explored: dict[str, object] | None = None) -> bytes:
    """One page that shows a recording, as a browser reads it. `explored`: what was possible in each of its states."""
    documents = {"run": run_document(recording), "states": states_document(recording)}
    if explored is not None:
        documents["explore"] = explored
    data = "\n".join([_data(f"{name}-document", document) for name, document in documents.items()])
    title = escape(str(documents["run"]["title"]))
    style = (FRONT_END / "studio.css").read_text(encoding="utf-8")
    script = bundle()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    parts = {
        "<!--policy-->": f'<meta http-equiv="Content-Security-Policy" content="{policy}" />',
        "<title>Congenial</title>": f"<title>{title} - Congenial</title>",
        "<!--style-->": f"<style>{style}</style>",
        "<!--script-->": f'<script type="module">{script}</script>',
        "<!--data-->": data,
    }
    text = template()
    for place, part in parts.items():
        text = text.replace(place, part, 1)
    return text.encode()


def write_page(path: str, recording: Recording, explored: dict[str, object] | None = None) -> None:
    """Write the page of a recording."""
    content = page(recording, explored)
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise ConfigError(f"cannot write the page to {path}: {why(error)}") from error


def _data(name: str, document: dict[str, object]) -> str:
    """A document as a part of a page that no browser takes for anything else."""
    text = msgspec.json.encode(document).decode().replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

"""`congenial list`: the catalogue as a table."""

from __future__ import annotations

from congenial.cli.options import Json, Markdown
from congenial.kernel.spec import Spec

EXAMPLES = """
congenial list
congenial list --json
"""


def command(json: Json = False, markdown: Markdown = False) -> None:
    """List the algorithms, with what their papers claim of them.

    Messages are per entry: n processes, k entries at once, q the largest quorum, i and r the largest inform and request
    set, D the diameter of the tree, L requests in a round. What is made of any of them stands below: NAME+restart is
    suzuki-kasami+restart, token-gme+restart, ...
    """
    from congenial.algorithms.catalogue import ALGORITHMS, TRANSFORM_SPECS
    from congenial.cli.output import print_json, show, table

    specs = [algorithm.spec for algorithm in ALGORITHMS.values()]
    if json:
        print_json([row(spec) for spec in specs])
        return
    listing = table("name", "title", "problem", "messages", "FIFO", "survives", "reference", markdown=markdown)
    for spec in specs:
        problem = spec.problem.name if spec.problem else ""
        fifo = "needed" if spec.fifo else ""
        title = f"{spec.title}: flawed" if spec.mended_by else spec.title
        listing.add_row(spec.name, title, problem, str(spec.messages or ""), fifo, spec.faults, spec.reference)
    show(listing)
    if not markdown:
        print("\nEach can be made to survive crashes:")
        made = table("name", "survives", "reference")
        for spec in TRANSFORM_SPECS:
            made.add_row(f"NAME+{spec.name}", spec.faults, spec.reference)
        show(made)


def row(spec: Spec) -> dict[str, object]:
    """One algorithm as data."""
    return {
        "name": spec.name,
        "title": spec.title,
        "problem": spec.problem.name if spec.problem else None,
        "messages": str(spec.messages) if spec.messages else None,
        "size": spec.size or None,
        "waiting": str(spec.waiting) if spec.waiting else None,
        "sync_delay": str(spec.sync_delay) if spec.sync_delay else None,
        "concurrency": spec.concurrency,
        "concurrent_entry": spec.concurrent_entry if spec.problem and spec.problem.concurrent_entry else None,
        "fifo": spec.fifo,
        "faults": spec.faults,
        "reference": spec.reference,
        "options": {option.name: {"default": option.default, "help": option.help} for option in spec.options},
        "flaws": [*spec.flaws],
        "mended_by": spec.mended_by or None,
    }

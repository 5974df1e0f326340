"""`congenial list`: the catalogue as a table."""

from __future__ import annotations

from congenial.cli.options import Json, Markdown
from congenial.kernel.node import Node
from congenial.kernel.spec import Spec

EXAMPLES = """
congenial list
congenial list --json
"""


WITH_REFERENCES = 100  # columns that the whole table takes


def command(json: Json = False, markdown: Markdown = False) -> None:
    """List the algorithms, with the costs and properties that their papers claim.

    Messages are per entry. n is the number of processes, k the number of entries at the same time, q the size of the
    largest quorum, i and r the sizes of the largest inform and request sets, a the size of the largest acquired set, b
    the largest number of processes that ask one member, D the diameter of the tree, E the number of links in the
    network, L the number of requests in a round, l the number of leaders of a session. The second table lists
    transforms, which apply to every algorithm: NAME+restart stands for suzuki-kasami+restart, token-gme+restart, ...
    """
    from congenial.cli.output import one_form, print_json, show, table, width
    from congenial.systems.catalogue import ALGORITHMS, TRANSFORM_SPECS

    one_form(json, markdown)
    if json:
        print_json([row(algorithm.spec) for algorithm in ALGORITHMS.values()])
        return
    narrow = not markdown and width() < WITH_REFERENCES
    heads = ["name", "kind", "messages", "FIFO", "survives", *([] if narrow else ["reference"])]
    listing = table(*heads, markdown=markdown)
    for spec, kind in [(algorithm.spec, kind_of(algorithm)) for algorithm in ALGORITHMS.values()]:
        fifo = "needed" if spec.fifo else ""
        faults = "" if spec.faults == "none" else spec.faults
        survives = f"flawed: see {spec.mended_by}" if spec.mended_by else faults
        # in a terminal, just the paper
        reference = spec.reference if markdown else spec.reference.split(";")[0].split(", section")[0]
        listing.add_row(spec.name, kind, str(spec.messages or ""), fifo, survives, *([] if narrow else [reference]))
    show(listing)
    if narrow:
        print(f"\nWith {WITH_REFERENCES} columns there is room for the references.")
    if not markdown:
        print("\nEvery algorithm can be made to survive crashes:")
        made = table("name", "survives", "reference")
        for spec in TRANSFORM_SPECS:
            made.add_row(f"NAME+{spec.name}", spec.faults, spec.reference)
        show(made)


def kind_of(algorithm: type[Node]) -> str:
    """Its problem, and the folder it is in where that says more: 'mutex, token'."""
    problem = algorithm.spec.problem.name if algorithm.spec.problem else ""
    folder = algorithm.__module__.split(".")[-2]
    return problem if folder == problem else f"{problem}, {folder}"


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
        "fences": spec.fences,
        "reference": spec.reference,
        "options": {option.name: {"default": option.default, "help": option.help} for option in spec.options},
        "flaws": [*spec.flaws],
        "mended_by": spec.mended_by or None,
    }

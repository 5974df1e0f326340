"""What the mutation tool changes, and what it leaves alone."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from mutate import Mutant, mutants_of


def mutants(tmp_path: Path, code: str) -> list[Mutant]:
    path = tmp_path / "toy.py"
    path.write_text(textwrap.dedent(code))
    found = mutants_of(path)
    for mutant in found:
        assert ast.dump(ast.parse(mutant.source())) != ast.dump(ast.parse(path.read_text()))
    return found


def changes(tmp_path: Path, *body: str, returns: str = "None") -> list[str]:
    """The changes in a method with the given body, without its name."""
    lines = "".join([f"        {line}\n" for line in body])
    found = mutants(tmp_path, f"class Toy:\n    def act(self, out) -> {returns}:\n{lines}")
    assert all([mutant.owner == "Toy.act" for mutant in found])
    return [mutant.name.removeprefix("Toy.act: ") for mutant in found]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.x < 3", "self.x <= 3"),
        ("self.x >= y", "self.x > y"),
        ("self.x == y", "self.x != y"),
        ("self.x is None", "self.x is not None"),
        ("y in self.x", "y not in self.x"),
        ("not self.x", "self.x"),
        ("min(x, y)", "max(x, y)"),
        ("all(x)", "any(x)"),
        ("True", "False"),
        ("self.x + y", "self.x - y"),
        ("[x for x in y if x.z]", "[x for x in y]"),
        ("x if y else z", "x if not y else z"),
        ("self.x[0]", "self.x[1]"),
        ("self.x and y", "self.x or y"),
        ("self.x and y", "y"),
    ],
)
def test_an_expression(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "toy.py"
    path.write_text(f"class Toy:\n    def act(self):\n        z = {before}\n")
    results = {ast.unparse(ast.parse(mutant.source()).body[0].body[0].body[0].value) for mutant in mutants_of(path)}  # type: ignore[attr-defined]
    same = {"x if not y else z": "z if y else x"}.get(after, after)
    assert same in results


def test_a_condition_is_negated_and_its_parts_are_left_out(tmp_path: Path) -> None:
    assert changes(tmp_path, "if self.x and y:", "    pass") == [
        "`if self.x and y` -> `if not (self.x and y)`",
        "`if self.x and y` -> `if self.x or y`",
        "`if self.x and y` -> `if y`",
        "`if self.x and y` -> `if self.x`",
    ]


def test_a_comparison_is_not_negated_twice(tmp_path: Path) -> None:
    assert changes(tmp_path, "while self.x == y:", "    continue") == [
        "`while self.x == y` -> `while self.x != y`",
        "`continue` -> `pass`",
    ]


def test_statements_are_forgotten(tmp_path: Path) -> None:
    assert changes(tmp_path, "out.broadcast(y)", "self.x = y", "self.x += 1", "return") == [
        "`out.broadcast(y)` -> `pass`",
        "`self.x = y` -> `pass`",
        "`self.x += 1` -> `pass`",
        "`return` -> `pass`",
    ]


def test_a_queue_is_filled_from_the_wrong_end(tmp_path: Path) -> None:
    found = changes(tmp_path, "self.queue.append(x)")
    assert found[1].endswith("`self.queue.append(x)` -> `self.queue.insert(0, x)`")


def test_an_answer_is_turned_round(tmp_path: Path) -> None:
    assert changes(tmp_path, "return self.x(y)", returns="bool") == [
        "in `return self.x(y)`: `self.x(y)` -> `not self.x(y)`"
    ]


def test_an_attribute_is_not_saved(tmp_path: Path) -> None:
    code = """
        class Toy:
            durable: ClassVar[tuple[str, ...]] = ("age", "number")
            everyone: ClassVar[bool] = True
        """
    assert [mutant.text for mutant in mutants(tmp_path, code)] == ["(('number',))", "(('age',))", "(False)"]


def test_equal_changes_are_numbered(tmp_path: Path) -> None:
    found = changes(tmp_path, "out.save()", "self.x = y", "out.save()")
    assert found == ["`out.save()` -> `pass`", "`self.x = y` -> `pass`", "`out.save()` -> `pass` (2)"]


def test_what_cannot_matter_is_left_alone(tmp_path: Path) -> None:
    code = '''
        """A docstring."""
        SPEC = Spec(name="toy", fifo=True)
        LIMIT: Final = 3

        def build_limit(text: str, n: int) -> int:
            return int(text) + 1

        @dataclass(frozen=True)
        class Request(Message):
            number: int = 0

        class Toy(Node):
            """A docstring."""

            spec: ClassVar[Spec] = SPEC

            def __init__(self, me: int = 0) -> None:
                """A docstring."""
                self.me = me

            def could_enter(self) -> bool:
                return self.me == 0

            def act(self, out: Out) -> None:
                assert self.me < 3
                raise ValueError(self.me + 1)
        '''
    assert mutants(tmp_path, code) == []


def test_times_are_left_alone(tmp_path: Path) -> None:
    assert changes(tmp_path, "out.set_timer(T1, self.patience + 1)") == [
        "`out.set_timer(T1, self.patience + 1)` -> `pass`"
    ]


class TestLeniency:
    """A change after which less is refused makes no difference to any run, since in none anything is refused."""

    def lenient(self, tmp_path: Path, *body: str) -> list[str]:
        lines = "".join([f"        {line}\n" for line in body])
        found = mutants(tmp_path, f"class Toy:\n    def receive(self, src, msg, out):\n{lines}")
        return [mutant.name.partition(" -> ")[2] for mutant in found if mutant.lenient]

    def test_a_guard_is_left_out(self, tmp_path: Path) -> None:
        body = (
            "if isinstance(msg, Request) and self.a and self.b:",
            "    pass",
            "elif isinstance(msg, Reply) and self.c:",
            "    pass",
            "else:",
            "    raise self.unexpected(src, msg)",
        )
        assert self.lenient(tmp_path, *body) == [
            "`if isinstance(msg, Request) and self.b`",
            "`if isinstance(msg, Request) and self.a`",
            "`if isinstance(msg, Reply) or self.c`",
            "`if self.c`",
            "`if isinstance(msg, Reply)`",
        ]

    def test_a_guard_becomes_inclusive(self, tmp_path: Path) -> None:
        body = (
            "if isinstance(msg, Reply) and self.a > 0:",
            "    pass",
            "else:",
            "    raise self.unexpected(src, msg)",
        )
        assert "`self.a >= 0`" in self.lenient(tmp_path, *body)

    def test_not_if_a_later_branch_takes_the_message(self, tmp_path: Path) -> None:
        body = (
            "if isinstance(msg, Reply) and self.a:",
            "    pass",
            "elif isinstance(msg, Reply):",
            "    pass",
            "else:",
            "    raise self.unexpected(src, msg)",
        )
        assert self.lenient(tmp_path, *body) == []

    def test_not_if_nothing_is_refused(self, tmp_path: Path) -> None:
        assert self.lenient(tmp_path, "if isinstance(msg, Reply) and self.a:", "    pass") == []

    def test_a_reason_to_refuse_is_left_out(self, tmp_path: Path) -> None:
        body = ("if self.a or self.b:", "    raise self.unexpected(src, msg)", "self.c = 2")
        assert self.lenient(tmp_path, *body) == ["`if self.a and self.b`", "`if self.b`", "`if self.a`"]

"""Guarded objects in views: a replicated object and its lock, in a cluster of its own (Romano & Rodrigues 2009).

This is weak mutual exclusion, as the algorithms of Romano & Rodrigues solve it, for processes that come back: after a
crash, with stable storage or without, or after they were falsely suspected. The processes agree on views
(`congenial.parts.views`), and the object follows them (`congenial.transform.object_in_views`).

A process that is excluded while it waits for the outcome of an operation learns it when it is a member again.
"""

from __future__ import annotations

from typing import cast

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ConfigError
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Option, Spec
from congenial.kernel.state import freeze, thaw
from congenial.parts.homed import Homed
from congenial.parts.views import Views
from congenial.problems.weak import WEAK, Resource, build_resource
from congenial.transform.instances import Setting, combined
from congenial.transform.object_in_views import ObjectInViews
from congenial.transform.views import SPEC as VIEWS
from congenial.transform.views import InViews


@mypyc_attr(allow_interpreted_subclasses=True)
class Replicas(InViews):
    """One object. The last `visitors` processes join when they ask for it, and stay."""

    def __init__(
        self,
        me: int,
        n: int,
        resource: Resource,
        voters: int = 5,
        visitors: int = 0,
        forget: bool = False,
        **settings: Setting,
    ) -> None:
        super().__init__(me, n, voters, visitors, forget, **settings)
        self.turn = 0
        self.object.replica.name(cast(Resource, thaw(freeze(resource))))
        self.object.voters = self._voters()
        if not self.visits:
            self.object.found()
        self.visits = False

    @property
    def object(self) -> ObjectInViews:
        return cast(ObjectInViews, self.inner)

    @property
    def replica(self) -> Resource:
        machine = self.object.replica.machine
        assert machine is not None
        return machine

    def _voters(self) -> tuple[int, ...]:
        return tuple([process for process, _ in self.views.view.voters])

    def request(self, groups: Groups, out: Out) -> None:
        """Every request is for another group, so nobody shares a session, and each has a fence of its own."""
        self.turn += 1
        super().request((2 * self.me + self.turn % 2,), out)

    def _move(self, out: Out) -> None:
        self.object.voters = self._voters()
        super()._move(out)

    def on_recover(self, out: Out) -> None:
        self.object.restart(self.inner_out(out))
        super().on_recover(out)

    def on_amnesia(self, out: Out) -> None:
        self.object.restart(self.inner_out(out))
        super().on_amnesia(out)


SPEC = Spec(
    name="replicas",
    title="guarding replicas in views",
    problem=None,
    reference="Congenial 2026, after Romano & Rodrigues 2009",
    fifo=True,
    faults=VIEWS.faults,
    options=(
        Option("resource", "journal", "the replicated resource: journal or counter", build_resource),
        *VIEWS.options,
    ),
)


def with_replicas(algorithm: type[Node]) -> type[Node]:
    """The class of nodes that guard a replicated object with the lock of an algorithm, in views."""
    problem = algorithm.spec.problem
    if not issubclass(algorithm, Homed) or problem is None or not problem.groups:
        raise ConfigError(f"{algorithm.spec.name} cannot guard replicas: it has no home, or knows no groups")
    about = {"algorithm": algorithm, "__module__": __name__}
    object_class = type(f"{algorithm.__name__}Object", (ObjectInViews,), about)
    namespace = {
        "lock_class": object_class,
        "spec": combined(algorithm.spec, SPEC, WEAK),
        "made_of": (algorithm, ObjectInViews, Views),
        "__doc__": f"{algorithm.__name__}, {SPEC.title}.",
        "__module__": __name__,
    }
    return type(f"{algorithm.__name__}Replicas", (Replicas,), namespace)

"""Singhal's dynamic algorithm, with the cost that is stated for a heavy load as a bound on every run."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial.algorithms.permission.singhal_dynamic import SPEC, SinghalDynamic
from congenial.kernel.spec import Law, Spec


class AsStated(SinghalDynamic):
    spec: ClassVar[Spec] = replace(SPEC, messages=Law("0", "3*(n-1)/2"))

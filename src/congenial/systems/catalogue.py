"""The catalogue: all algorithms by name, and how to find one there or in a user's own file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from congenial.algorithms.group.drs_gme import DrsGme
from congenial.algorithms.group.drs_gme_extended import DrsGmeExtended
from congenial.algorithms.group.drs_gme_extended_faults import DrsGmeExtendedFaults
from congenial.algorithms.group.drs_gme_faults import DrsGmeFaults
from congenial.algorithms.group.home_gme import HomeGME
from congenial.algorithms.group.maekawa_m import MaekawaM
from congenial.algorithms.group.maekawa_s import MaekawaS
from congenial.algorithms.group.ra1 import RA1
from congenial.algorithms.group.ra2 import RA2
from congenial.algorithms.group.surrogate import Surrogate
from congenial.algorithms.group.surrogate_a import SurrogateA
from congenial.algorithms.group.surrogate_b import SurrogateB
from congenial.algorithms.group.surrogate_concurrent import SurrogateConcurrent
from congenial.algorithms.group.surrogate_information import SurrogateInformation
from congenial.algorithms.group.surrogate_solitary import SurrogateSolitary
from congenial.algorithms.group.surrogate_types import SurrogateTypes
from congenial.algorithms.group.token_gme import TokenGME, TokenGMEFifo
from congenial.algorithms.group.token_gme_bounded import TokenGMEBounded
from congenial.algorithms.group.token_gme_types import TokenGMETypes
from congenial.algorithms.group.toyomura import Toyomura
from congenial.algorithms.group.tqgmx import TQGmx
from congenial.algorithms.kmutex.home_k import HomeK
from congenial.algorithms.kmutex.kakugawa import Kakugawa
from congenial.algorithms.kmutex.raymond_k import RaymondK
from congenial.algorithms.kmutex.srimani_reddy import SrimaniReddy
from congenial.algorithms.permission.agrawal_el_abbadi import AgrawalElAbbadi
from congenial.algorithms.permission.carvalho_roucairol import CarvalhoRoucairol
from congenial.algorithms.permission.lamport import Lamport
from congenial.algorithms.permission.maekawa import Maekawa
from congenial.algorithms.permission.raynal_primes import RaynalPrimes
from congenial.algorithms.permission.raynal_primes_mended import RaynalPrimesMended
from congenial.algorithms.permission.ricart_agrawala import RicartAgrawala
from congenial.algorithms.permission.sanders import Sanders
from congenial.algorithms.permission.singhal_dynamic import SinghalDynamic
from congenial.algorithms.token.helary_plouzeau_raynal import HelaryPlouzeauRaynal
from congenial.algorithms.token.mishra_srimani import MishraSrimani
from congenial.algorithms.token.mizuno_neilsen_rao import MizunoNeilsenRao
from congenial.algorithms.token.naimi_trehel import NaimiTrehel
from congenial.algorithms.token.naimi_trehel_recovery import NaimiTrehelRecovery
from congenial.algorithms.token.neilsen_mizuno import NeilsenMizuno
from congenial.algorithms.token.nishio_li_manning import NishioLiManning
from congenial.algorithms.token.nishio_propagation import NishioPropagation
from congenial.algorithms.token.raymond_recovery import RaymondRecovery
from congenial.algorithms.token.raymond_tree import RaymondTree
from congenial.algorithms.token.ricart_agrawala_token import RicartAgrawalaToken
from congenial.algorithms.token.singhal_heuristic import SinghalHeuristic
from congenial.algorithms.token.suzuki_kasami import SuzukiKasami
from congenial.algorithms.token.suzuki_kasami_bounded import SuzukiKasamiBounded
from congenial.algorithms.weak.wme1 import WME1
from congenial.algorithms.weak.wme2 import WME2
from congenial.algorithms.weak.wme_consensus import WMEConsensusFast, WMEConsensusLean
from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import shown
from congenial.kernel.node import Node
from congenial.kernel.places import told
from congenial.systems.contract import check_declarations
from congenial.systems.view_locks import LOCK_CLASSES
from congenial.transform.crash_restart import SPEC as RESTART
from congenial.transform.crash_restart import restarted
from congenial.transform.epochs import SPEC as EPOCHS
from congenial.transform.epochs import in_epochs
from congenial.transform.replicas import SPEC as REPLICAS
from congenial.transform.replicas import with_replicas
from congenial.transform.views import SPEC as VIEWS
from congenial.transform.views import in_views, lock_classes

ALGORITHMS: dict[str, type[Node]] = {
    algorithm.spec.name: algorithm
    for algorithm in (
        # mutual exclusion by a token
        RicartAgrawalaToken,
        SuzukiKasami,
        SuzukiKasamiBounded,
        MizunoNeilsenRao,
        NeilsenMizuno,
        HelaryPlouzeauRaynal,
        RaymondTree,
        RaymondRecovery,
        SinghalHeuristic,
        NaimiTrehel,
        MishraSrimani,
        NishioLiManning,
        NishioPropagation,
        NaimiTrehelRecovery,
        # mutual exclusion by permissions
        Lamport,
        RicartAgrawala,
        CarvalhoRoucairol,
        RaynalPrimes,
        RaynalPrimesMended,
        Maekawa,
        Sanders,
        AgrawalElAbbadi,
        SinghalDynamic,
        # k entries at the same time
        RaymondK,
        SrimaniReddy,
        Kakugawa,
        HomeK,
        # group mutual exclusion
        RA1,
        RA2,
        TokenGME,
        TokenGMEFifo,
        TokenGMETypes,
        TokenGMEBounded,
        TQGmx,
        MaekawaM,
        MaekawaS,
        Toyomura,
        SurrogateA,
        SurrogateB,
        Surrogate,
        SurrogateConcurrent,
        SurrogateTypes,
        SurrogateInformation,
        SurrogateSolitary,
        DrsGme,
        DrsGmeFaults,
        DrsGmeExtended,
        DrsGmeExtendedFaults,
        HomeGME,
        # weak exclusion
        WME1,
        WME2,
        WMEConsensusFast,
        WMEConsensusLean,
    )
}

SOUND = {name: algorithm for name, algorithm in ALGORITHMS.items() if not algorithm.spec.mended_by}
"""All but the algorithms that are kept for their flaws: these must pass every test, and locks can run on them."""


def find_algorithm(name: Any) -> type[Node]:
    """The node class that `name` stands for: a name from the catalogue or `path/to/file.py:ClassName`, each perhaps
    with `+epochs`, `+restart` or `+views` appended; or a class, which stands for itself.

    >>> find_algorithm("maekawa").spec.title
    'Maekawa'
    >>> find_algorithm("raymond-tree+restart").__name__
    'RaymondTreeCrashRestart'
    """
    if not isinstance(name, str):
        return _node_class(name)
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    if "+" in name and ":" not in name.rpartition("+")[2]:
        return transform_of(name)
    if ":" in name:
        path, _, class_name = name.rpartition(":")
        return load_class(Path(path), class_name)
    near = get_close_matches(name, list(ALGORITHMS), 1, 0.5)
    hint = f"did you mean {near[0]!r}?" if near else "`congenial list` names them"
    raise ConfigError(f"unknown algorithm {shown(name)}: {hint} (or path/to/file.py:ClassName)")


def _node_class(given: Any) -> type[Node]:
    if not isinstance(given, type) or not issubclass(given, Node) or given is Node:
        raise ConfigError(
            "algorithm must be a name of the catalogue, path/to/file.py:ClassName or a subclass of Node, not "
            f"{shown(given)}"
        )
    check_declarations(given)
    return given


TRANSFORMS: dict[str, Callable[[type[Node]], type[Node]]] = {
    "epochs": in_epochs,
    "restart": restarted,
    "views": in_views,
    "replicas": with_replicas,
}
"""What can be made of an algorithm, by the name that is appended to its own."""
lock_classes.update(LOCK_CLASSES)
TRANSFORM_SPECS = (EPOCHS, RESTART, VIEWS, REPLICAS)

_transformed: dict[str, type[Node]] = {}  # made once each: the class is part of a node's state


def transform_of(name: str) -> type[Node]:
    """The class for `ALGORITHM+TRANSFORM`."""
    base, _, transform = name.rpartition("+")
    if transform not in TRANSFORMS:
        raise ConfigError(f"unknown transform {shown(transform)} in {shown(name)}: there are {', '.join(TRANSFORMS)}")
    if name not in _transformed:
        _transformed[name] = TRANSFORMS[transform](find_algorithm(base))
    return _transformed[name]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def load_class(path: Path, class_name: str) -> type[Node]:
    """Load a node class from a Python file outside the package."""
    if not _is_file(path):
        raise ConfigError(f"there is no file {path} (an algorithm is a name, or path/to/file.py:ClassName)")
    if not class_name.isidentifier():
        raise ConfigError(f"{shown(class_name)} is no name of a class (write path/to/file.py:ClassName)")
    module_name = f"congenial_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses and pickles look their module up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise ConfigError(f"{path} cannot be loaded: {told(error)}") from error
    found: object = getattr(module, class_name, None)
    if not isinstance(found, type) or not issubclass(found, Node):
        classes = [name for name, thing in vars(module).items() if isinstance(thing, type) and issubclass(thing, Node)]
        raise ConfigError(
            f"{path} has no Node class {class_name!r}; it has: {', '.join(sorted(set(classes) - {'Node'})) or 'none'}"
        )
    return _node_class(found)

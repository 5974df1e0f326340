"""Every entry has a fence, and fences grow; but for algorithms that cannot give any."""

from __future__ import annotations

import pytest
from fences import WITHOUT_FENCES, fences_given

from congenial.systems.catalogue import SOUND


@pytest.mark.parametrize("name", SOUND)
def test_every_entry_has_a_fence(name: str) -> None:
    given = fences_given(SOUND[name])
    assert len(given) == 6
    if name in WITHOUT_FENCES:
        assert set(given) == {0}
    else:
        assert 0 not in given
        assert given == sorted(given)

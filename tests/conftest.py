"""What all tests share: the switch that rewrites golden files, and hypothesis settings that do not depend on load."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("congenial", deadline=None, max_examples=60)
settings.load_profile("congenial")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write the golden files anew instead of comparing")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--rewrite"))

"""A GitHub's house and a tracker in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_claims.tracker.github import GitHub as Tracker
from tests.edges.github_house import House
from tests.github_double import GitHub


@pytest.fixture
def house(github: GitHub, tmp_path: Path) -> House:
    return House(github, tmp_path)


@pytest.fixture
def tracker(house: House) -> Tracker:
    return house.tracker()

"""The terminal session in the README is what the program prints today."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.picture import SESSION, picture
from tests.scenarios.oracle import is_complete

README = Path(__file__).parents[1] / "README.md"


# Over 3 s: it is a whole run of two issues.
@pytest.mark.skipif(not is_complete(), reason="a whole run is drawn where GIT_CLAIM_CI=1 asks for everything")
def test_picture_in_the_readme_is_what_the_program_prints() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    first = lines.index(f"    $ {SESSION[0]}")
    end = next(at for at in range(first, len(lines)) if not lines[at].startswith("    "))
    assert [line.removeprefix("    ") for line in lines[first:end]] == list(picture())

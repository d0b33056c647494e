"""What the server's ref says of a swap whose push did not end cleanly: the whole table, and nothing decided else."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from git_claims.protocol.claim import Oid
from git_claims.protocol.settlement import Standing, stand

OLD, NEW, OTHER = Oid("0" * 39 + "1"), Oid("0" * 39 + "2"), Oid("0" * 39 + "3")
TABLE = [
    ("take: our claim is there", None, NEW, NEW, Standing.APPLIED),
    ("take: a rival's claim is there", None, NEW, OTHER, Standing.MOVED),
    ("take: nothing is there yet", None, NEW, None, Standing.UNCHANGED),
    ("renew: our new claim is there", OLD, NEW, NEW, Standing.APPLIED),
    ("renew: somebody took over", OLD, NEW, OTHER, Standing.MOVED),
    ("renew: somebody freed it", OLD, NEW, None, Standing.MOVED),
    ("renew: our old claim is there yet", OLD, NEW, OLD, Standing.UNCHANGED),
    ("release: it is gone", OLD, None, None, Standing.APPLIED),
    ("release: somebody took over", OLD, None, OTHER, Standing.MOVED),
    ("release: our claim is there yet", OLD, None, OLD, Standing.UNCHANGED),
]


@pytest.mark.parametrize(
    ("expected", "new", "server", "standing"), [case[1:] for case in TABLE], ids=[case[0] for case in TABLE]
)
def test_ref_decides(expected: Oid | None, new: Oid | None, server: Oid | None, standing: Standing) -> None:
    assert stand(expected, new, server) is standing


states = st.sampled_from([None, OLD, NEW, OTHER])


@given(states, states, states)
def test_applied_means_the_server_has_what_we_pushed(expected: Oid | None, new: Oid | None, server: Oid | None) -> None:
    assume(expected != new)
    assert (stand(expected, new, server) is Standing.APPLIED) == (server == new)
    assert (stand(expected, new, server) is Standing.UNCHANGED) == (server == expected)

"""Which repository of which GitHub a URL of git names."""

from __future__ import annotations

import pytest

from git_claims.tracker.location import Location, locate

LEDGER = Location("github.com", "acme", "ledger")
ENTERPRISE = Location("ghe.example.com", "acme", "ledger")


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("https://github.com/acme/ledger", LEDGER),
        ("https://github.com/acme/ledger.git", LEDGER),
        ("https://github.com/acme/ledger/", LEDGER),
        ("https://octo:secret@github.com/acme/ledger.git", LEDGER),
        ("https://www.github.com/acme/ledger", LEDGER),
        ("https://github.com:443/acme/ledger.git", LEDGER),
        ("HTTPS://GitHub.com/acme/ledger", LEDGER),
        ("http://github.com/acme/ledger", LEDGER),
        ("git://github.com/acme/ledger.git", LEDGER),
        ("git@github.com:acme/ledger.git", LEDGER),
        ("git@github.com:/acme/ledger", LEDGER),
        ("github.com:acme/ledger", LEDGER),
        ("org-1234567@github.com:acme/ledger.git", LEDGER),
        ("ssh://git@github.com/acme/ledger.git", LEDGER),
        ("ssh://git@github.com:22/acme/ledger.git", LEDGER),
        ("ssh://git@ssh.github.com:443/acme/ledger.git", LEDGER),
        ("git+ssh://git@github.com/acme/ledger", LEDGER),
        ("https://github.com/acme/ledger.js.git", Location("github.com", "acme", "ledger.js")),
        ("https://ghe.example.com/acme/ledger", ENTERPRISE),
        ("git@ghe.example.com:acme/ledger.git", ENTERPRISE),
        ("ssh://git@ghe.example.com:7999/acme/ledger.git", ENTERPRISE),
        ("https://ghe.example.com:8443/acme/ledger", Location("ghe.example.com:8443", "acme", "ledger")),
        ("https://acme.ghe.com/acme/ledger", Location("acme.ghe.com", "acme", "ledger")),
        ("", None),
        ("/srv/git/ledger.git", None),
        ("../ledger", None),
        ("./a:b/c", None),
        ("file:///srv/acme/ledger.git", None),
        ("C:/acme/ledger", None),
        ("C:acme/ledger", None),
        ("https://github.com/acme", None),
        ("https://gitlab.com/group/sub/ledger", None),
        ("https://github.com/acme/..", None),
        ("https://github.com/acme/led ger", None),
        ("https:///acme/ledger", None),
        ("https://github.com:port/acme/ledger", None),
        ("https://[::1/acme/ledger", None),
        ("ext::ssh git@github.com acme/ledger", None),
        ("-oProxyCommand=x:acme/ledger", None),
    ],
)
def test_a_url_tells_host_owner_and_repository(url: str, location: Location | None) -> None:
    assert locate(url) == location

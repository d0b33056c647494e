"""`python -m git_claims` is the same program as `git claim`."""

from git_claims.cli.main import main

raise SystemExit(main())

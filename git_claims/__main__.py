"""`python -m git_claims` is the same program as `git claim`."""

from git_claims.cli.start import main

raise SystemExit(main())

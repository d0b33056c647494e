"""The benchmark: `python -m tests.bench -h`. It measures; only a race without exactly one winner is a failure."""

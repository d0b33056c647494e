"""The front door: what a process does before and after everything else."""

import gc


def main() -> int:
    """Runs one command and returns its exit status. Agents start the program hundreds of times a day."""
    # Nothing that is imported is garbage: looking for some costs a tenth of a start, and as much again at the end.
    gc.disable()
    from git_claims.cli.main import main as run

    gc.freeze()
    gc.enable()
    status = run()
    gc.freeze()
    return status

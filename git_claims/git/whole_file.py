"""Files that are replaced as a whole: whoever reads one sees all of the old or all of the new."""

import os
import stat
from pathlib import Path


def replace_file(path: Path, text: str, *, executable: bool = False) -> None:
    """Writes a file under a name of our own, then renames it. Raises OSError."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    if executable:
        temporary.chmod(temporary.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    temporary.replace(path)

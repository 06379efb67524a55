"""A private temporary directory that is gone afterwards even if this process is killed: a tiny
shell waits on a pipe only we hold, and removes the directory when the pipe closes. Knows nothing
of what is kept in the directory."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

# Children of a killed process need a moment to die and may write until they do, hence the repeats.
_REMOVE_WHEN_ORPHANED = """\
while read -r _; do :; done
for _ in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$1" 2>/dev/null && exit 0; sleep 0.3; done
"""


class Workspace:
    """Use it as a context manager, or call `close`; the path is short enough for unix sockets."""

    def __init__(self, prefix: str = "fairlead-") -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._remover = subprocess.Popen(
            ["/bin/sh", "-c", _REMOVE_WHEN_ORPHANED, "fairlead-workspace", str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            process_group=0,
        )

    def close(self) -> None:
        """Remove the directory and everything in it; a second call does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._remover.stdin is not None:
            self._remover.stdin.close()
        self._remover.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

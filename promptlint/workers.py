"""What every process that helps the first one does before its work."""

from __future__ import annotations

import os
import signal


def begin() -> None:
    """Leave an interrupt to the first process, and end with it, however it ends.

    A process that is killed tells nobody; its helpers would work on, or wait for ever to be read from.
    """
    from threading import Thread

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_first, daemon=True).start()


def _end_with_first() -> None:
    import multiprocessing

    first = multiprocessing.parent_process()
    if first is not None:
        first.join()
        os._exit(1)

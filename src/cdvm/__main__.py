"""``python -m cdvm``, and the command ``cdvm``."""

import signal
import sys
import threading

__all__ = ["main"]


def main() -> None:
    """Run the command line; an interrupt while its modules load is one line as well."""
    try:
        from cdvm.cli import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted: nothing had begun; run the same command again", file=sys.stderr)
        sys.exit(130)
    finally:
        _close_down()


def _close_down() -> None:
    """From here on a signal can only break what closes workers and shared memory: the first is let pass."""
    if threading.current_thread() is not threading.main_thread():
        return

    def pass_once(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_once)


if __name__ == "__main__":
    main()

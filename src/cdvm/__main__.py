"""``python -m cdvm``, and the command ``cdvm``."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; an interrupt while its modules load is one line as well."""
    try:
        from cdvm.cli import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted: nothing had begun; run the same command again", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()

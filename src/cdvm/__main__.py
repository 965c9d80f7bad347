"""``python -m cdvm``."""

from cdvm.cli import main

main()

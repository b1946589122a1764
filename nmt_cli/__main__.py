"""`python -m nmt_cli` is `nmt`."""

from __future__ import annotations

from nmt_cli.cli.main import main

if __name__ == "__main__":
    main()

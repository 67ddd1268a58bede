"""Puts the slow re-implementations (naive.py and its kin) on the path of the tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

"""The whole cloud on one machine: what no package brings, to develop with, to test on, and to watch."""

import sys
from pathlib import Path

# What is deployed is not installed: the local cloud finds it where it lies.
sys.path.append(str(Path(__file__).resolve().parent.parent / "functions"))

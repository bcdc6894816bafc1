"""From one declarative table to a deployment: the gcloud commands, run or printed, checked and taken back."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What a deployment sets is checked by the functions' own settings.
sys.path.append(str(ROOT / "functions"))

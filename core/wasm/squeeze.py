"""A file compressed by xz, in which core.wasm takes less than a quarter: squeeze.py FILE OUT."""

import lzma
import sys
from pathlib import Path

source, out = map(Path, sys.argv[1:])
out.write_bytes(lzma.compress(source.read_bytes(), preset=9 | lzma.PRESET_EXTREME))

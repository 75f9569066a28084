"""How this program is called again: by its name where the shell finds it, else the way it was called now."""

import shutil
import sys
from shlex import quote

_NAME = "midwatch"


def name_program() -> str:
    return _NAME if shutil.which(_NAME) is not None or not sys.argv[0].endswith(_NAME) else quote(sys.argv[0])

"""A program started through this script dies with the process that started it. It is run, never imported for use.

A script of its own and not a function between fork and exec: the service has threads, and the interpreter must still be
reachable while we are root. Arguments: signal, process id of the starter, user id, group id, program, its arguments.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    signal, parent, uid, gid = (int(word) for word in sys.argv[1:5])
    if uid != os.geteuid():
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # Only now: the kernel forgets the death signal whenever the user id changes.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal)
    # A starter that died before the line above would never be noticed.
    if os.getppid() == parent:
        os.execv(sys.argv[5], sys.argv[5:])  # noqa: S606 -- no shell is wanted


if __name__ == "__main__":
    main()

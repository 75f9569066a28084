"""From which numbers on something counts as a problem, and how far an investigation goes. All of them, in one place."""

DISK_FULL_PERCENT = 90.0
DISK_FILLING_PERCENT = 80.0
"""Enough for a file system that the alert names."""
INODES_FULL_PERCENT = 90.0
MEMORY_USED_PERCENT = 90.0
SWAP_USED_PERCENT = 60.0
LOAD_PER_PROCESSOR = 1.0
CPU_BUSY_PERCENT = 85.0
IOWAIT_PERCENT = 20.0
BUSY_PROCESS_PERCENT = 50.0
"""Of one processor."""
GREEDY_PROCESS_PERCENT = 20.0
"""Of the memory."""
CONTAINER_RESTARTS = 3

DOMINANT_FOLDER_SHARE = 0.3
"""Of what its folder holds: from here on it is worth looking into."""
DOMINANT_FILE_SHARE = 0.5
UNEXPLAINED_SHARE = 0.2
"""Of what is used on a disk: from here on the numbers do not add up."""

LEVELS_DOWN = 3
CALLS_AT_ONCE = 6
ROUNDS_OF_CALLS = 6
SUSPECTS = 2
"""Things of one kind that are followed up."""
LINES_SHOWN = 5
"""Lines of a log that are quoted."""

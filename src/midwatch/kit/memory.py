"""When memory is cleared: what a process has made by the time it is ready stays for good, and need not be looked at."""

import gc

_YOUNG = (2_000, 20, 500)
"""Nearly all that a run leaves in circles is found young. A look at everything takes a tenth of a second once many
sessions run, in which nobody is served: it is worth having seldom."""


def settle_memory() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_YOUNG)

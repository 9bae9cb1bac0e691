"""How much memory there is."""

import os


def free_memory() -> int:
    """Return the bytes that this machine could still give, or a cautious 2 GB."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123 - no file of ours
            told = dict(line.split(":", 1) for line in lines)
        return int(told["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_AVPHYS_PAGES"))
    except (OSError, ValueError, AttributeError):
        return 2 * 2**30

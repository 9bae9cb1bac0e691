"""What can be read one by one."""

import numpy as np


def is_several(values: object) -> bool:
    """Tell whether there can be several things in it: one text and one number are one thing.

    >>> is_several(["a"]), is_several("a"), is_several(np.array(3))
    (True, False, False)
    """
    if isinstance(values, str | bytes):
        return False
    return values.ndim > 0 if isinstance(values, np.ndarray) else hasattr(values, "__iter__")

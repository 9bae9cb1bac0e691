"""Names of files that a document mentions."""

import math
import re

from veil.sensitive.mails import Mail

NAMES = ("attachments", "documents", "sheets", "slides", "pictures", "archives")
_KINDS = (
    ("doc", "docx", "pdf", "rtf", "wpd", "txt"),
    ("xls", "xlsx", "csv"),
    ("ppt", "pptx", "pps"),
    ("jpg", "jpeg", "gif", "bmp", "png", "mpg", "mpeg", "avi", "mp3", "wav"),
    ("zip", "exe", "htm", "html"),
)
_FILE = re.compile(
    rf"[\w\-()&]\.({'|'.join(end for kind in _KINDS for end in kind)})\b", re.IGNORECASE
)


def attachments(mail: Mail) -> list[float]:
    """Return how many file names occur (logarithm), and of which kinds."""
    endings = [found.lower() for found in _FILE.findall(f"{mail.title}\n{mail.text}")]
    kinds = [float(any(one in kind for one in endings)) for kind in _KINDS]
    return [math.log1p(len(endings)), *kinds]

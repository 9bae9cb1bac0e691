"""Files of one's own to titles and texts: one format, one file.

A reader takes an open file and yields what `veil.corpus.readers.reader` says. The readers are run
by `worker`, a process of its own; `apart` asks it.
"""

KINDS = {  # by the end of a file's name
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".eml": "mail",
    ".mbox": "mbox",
    ".mbx": "mbox",
}
READERS = {
    "text": "veil.corpus.readers.text:read",
    "markdown": "veil.corpus.readers.markdown:read",
    "html": "veil.corpus.readers.html:read",
    "pdf": "veil.corpus.readers.pdf:read",
    "docx": "veil.corpus.readers.docx:read",
    "mail": "veil.corpus.readers.mail:read",
    "mbox": "veil.corpus.readers.mbox:read",
}

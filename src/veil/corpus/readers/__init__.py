"""Readers that extract titles and texts from files, one module per format.

A reader takes an open file and yields `ReadDocument`s (see `veil.corpus.readers.reader`). Readers
run in a separate process (see `veil.corpus.readers.worker`).
"""

KINDS = {  # by suffix
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

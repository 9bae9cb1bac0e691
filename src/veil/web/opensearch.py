"""The description by which a browser takes the page as a search engine.

There is no address for suggestions: a browser would send what is typed letter by letter.
"""

from html import escape

MEDIA_TYPE = "application/opensearchdescription+xml"
SHORT_NAME = "Veil"  # at most 16 characters


def description(origin: str) -> str:
    """Return the description for a browser that reaches the page under this origin."""
    at = escape(origin)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
  <ShortName>{SHORT_NAME}</ShortName>
  <Description>Private search: the engine sees variants of a query, not the query.</Description>
  <InputEncoding>UTF-8</InputEncoding>
  <OutputEncoding>UTF-8</OutputEncoding>
  <Image type="image/svg+xml">{at}/static/icon.svg</Image>
  <Url type="text/html" method="get" template="{at}/search?q={{searchTerms}}"/>
  <Url type="{MEDIA_TYPE}" rel="self" template="{at}/opensearch.xml"/>
</OpenSearchDescription>
"""

"""Read a page as a browser would, and insist that it is well-formed."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "path", "rect", "circle", "line"}
SPACE = "\N{NO-BREAK SPACE}"


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).replace(SPACE, " ").split())


class Page(HTMLParser):
    """The elements of a page with their attributes and texts; all of them are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.open: list[Element] = []
        assert text.startswith("<!doctype html>")
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.words.append(data)

    def all(self, name: str, /, **wanted: str) -> list[Element]:
        """Elements of a name whose attributes have these values, or these among their words."""
        return [
            one
            for one in self.elements
            if name in ("*", one.name)
            and all(
                value in (found := one.attributes.get(key.rstrip("_"), "\0"), *found.split())
                for key, value in wanted.items()
            )
        ]

    def one(self, name: str, /, **wanted: str) -> Element:
        (found,) = self.all(name, **wanted)
        return found

    @property
    def text(self) -> str:
        return self.one("body").text

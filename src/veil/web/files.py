"""The files of the pages: an explicit table, read once, so that no path leads elsewhere."""

import hashlib

from veil.web.messages import Handler, Request, Response, header_values
from veil.web.pages.assets import Asset, assets

ICON = "icon.svg"


def file_routes() -> dict[tuple[str, str], Handler]:
    """Return the address of each file, and who answers there."""
    found = assets()
    table = {("GET", f"/static/{name}"): _handler(asset) for name, asset in found.items()}
    table["GET", "/favicon.ico"] = _handler(found[ICON])
    return table


def _handler(asset: Asset) -> Handler:
    tag = f'"{hashlib.sha256(asset.content).hexdigest()[:32]}"'
    headers = {"cache-control": "no-cache", "etag": tag}

    async def answer(request: Request) -> Response:
        known = ",".join(header_values(request.scope, "if-none-match")).split(",")
        if tag in (one.strip().removeprefix("W/") for one in known):
            return Response(None, 304, headers)
        return Response(asset.content, 200, headers, asset.kind)

    return answer

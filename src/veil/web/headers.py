"""Headers that every response carries, whoever made it: nothing is stored, framed or shared."""

from veil.web.messages import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS: dict[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # not no-referrer: browsers would then send "Origin: null" with the forms of our own pages
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    # browsers would look up the hosts of all results, and so tell others what was found
    "x-dns-prefetch-control": "off",
    "x-robots-tag": "noindex, nofollow",
}
_ENCODED = [(name.encode("ascii"), value.encode("ascii")) for name, value in HEADERS.items()]
_CACHE = (b"cache-control", b"no-store")


class Secured:
    """Add the headers to whatever the application answers; what it set itself stays."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", ()))
                names = {name.lower() for name, _ in own}
                more = [pair for pair in (*_ENCODED, _CACHE) if pair[0] not in names]
                message = {**message, "headers": own + more}
            await send(message)

        await self._app(scope, receive, secured)

"""Open an encoder by its spec, once per process."""

import re
import threading

from veil.core.errors import ParameterError
from veil.core.types import Encoder
from veil.data.fetch import Report, cache_folder, no_progress
from veil.encoders import ENCODERS
from veil.encoders.encoder import EncoderSpec

_MAX_OPEN = 8  # models held at once; the one opened first goes first
_opened: dict[tuple[str, str], Encoder] = {}
_locks: dict[tuple[str, str], threading.Lock] = {}
_guard = threading.Lock()
_DASHED = re.compile(r"\w[\w.]*-[\w.-]*")  # as models are called, and no encoder of ours


def encoder(spec: str, report: Report = no_progress) -> Encoder:
    """Open ``minilm``, ``minilm(precision=int8)``, ``wordllama``, or a Hugging Face model.

    A bare name with a slash, such as ``intfloat/e5-base-v2`` or a path, is a Hugging Face model;
    one without a slash is written as ``huggingface(model=distilbert-base-uncased)``.
    The same spec gives the same encoder for the life of the process, from any thread; a second
    thread that asks for it waits until it is open.
    """
    chosen = parse(spec)
    key = (str(chosen), str(cache_folder()))
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        found = _opened.get(key)
        if found is None:
            found = chosen.open(report)
            with _guard:
                _opened[key] = found
                while len(_opened) > _MAX_OPEN:
                    del _opened[next(iter(_opened))]
    return found


def parse(spec: str) -> EncoderSpec:
    """Read a spec without opening anything."""
    if not isinstance(spec, str):
        raise ParameterError("An encoder is named by a text, for example minilm.")
    if "/" in spec and "(" not in spec:
        return ENCODERS.get("huggingface").load({"model": spec.strip()})
    if _DASHED.fullmatch(spec.strip()):
        raise ParameterError(
            f"A model of Hugging Face whose name has no slash is written as"
            f" huggingface(model={spec.strip()[:60]})."
        )
    return ENCODERS.parse(spec)

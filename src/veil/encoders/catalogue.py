"""Open an encoder by its spec, once per process."""

import re
import threading

from veil.core.errors import ParameterError
from veil.core.types import Encoder
from veil.data.fetch import Report, cache_folder, no_progress
from veil.encoders import ENCODERS
from veil.encoders.encoder import EncoderSpec

_MAX_OPEN = 8  # models in memory; the one opened first is dropped first
_opened: dict[tuple[str, str], Encoder] = {}
_locks: dict[tuple[str, str], threading.Lock] = {}
_guard = threading.Lock()
_DASHED = re.compile(r"\w[\w.]*-[\w.-]*")  # model names have dashes, our encoders do not


def encoder(spec: str, report: Report = no_progress) -> Encoder:
    """Open ``minilm``, ``minilm(precision=int8)``, ``wordllama``, or a Hugging Face model.

    A bare name with a slash, such as ``intfloat/e5-base-v2`` or a path, is a Hugging Face model.
    A model whose name has no slash is written ``huggingface(model=distilbert-base-uncased)``.
    The same spec returns the same open encoder, from any thread, until it is dropped from memory.
    A second thread that requests it waits until it is open.
    """
    component = parse(spec)
    key = (str(component), str(cache_folder()))
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        opened = _opened.get(key)
        if opened is None:
            opened = component.open(report)
            with _guard:
                _opened[key] = opened
                while len(_opened) > _MAX_OPEN:
                    del _opened[next(iter(_opened))]
    return opened


def parse(spec: str) -> EncoderSpec:
    """Parse a spec without opening the encoder."""
    if not isinstance(spec, str):
        raise ParameterError("An encoder must be a string, for example 'minilm'.")
    if "/" in spec and "(" not in spec:
        return ENCODERS.get("huggingface").load({"model": spec.strip()})
    if _DASHED.fullmatch(spec.strip()):
        raise ParameterError(
            f"A Hugging Face model whose name has no slash is written as"
            f" huggingface(model={spec.strip()[:60]})."
        )
    return ENCODERS.parse(spec)

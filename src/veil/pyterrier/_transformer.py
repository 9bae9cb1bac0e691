"""What a step of a pipeline is: PyTerrier's own class, or one that says that it is missing."""

from typing import TYPE_CHECKING, Any

from veil.core.errors import MissingExtraError

if TYPE_CHECKING:

    class Transformer:
        """A step of a pipeline: frames in, frames out."""

        def transform(self, inp: Any) -> Any:  # noqa: ANN401 - a frame of pandas
            """Make a frame of a frame."""

        def __rshift__(self, other: "Transformer") -> "Transformer":
            """Let another step follow."""
            ...

        def __mod__(self, most: int) -> "Transformer":
            """Cut the lists."""
            ...
else:
    try:
        from pyterrier import Transformer
    except ImportError:

        class Transformer:
            """Stands where PyTerrier is not installed, and cannot be used."""

            def __new__(cls, *given: object, **named: object) -> "Transformer":
                """Say what is missing."""
                del given, named
                raise MissingExtraError(
                    f"{cls.__name__} is a step of PyTerrier: pip install 'veil[pyterrier]'."
                )

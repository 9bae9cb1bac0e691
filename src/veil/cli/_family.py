"""Flags of the mechanisms for texts: those for whole queries have no use for some."""

from collections.abc import Mapping

from veil.cli.flags import Components
from veil.core.component import Component
from veil.text.mechanisms.mechanism import WordMechanism

# Flags that are of no use to mechanisms for whole queries, and what stands for them there.
FOR_WORDS = {"unknown": "random", "policy": (), "select": None, "vectors": "", "seed": None}


class Family(Components):
    """A command with one sub-command per mechanism; the flags are the mechanism's parameters."""

    def left_out(self, cls: type[Component]) -> Mapping[str, object]:
        """Leave out what only mechanisms for words have a use for."""
        if issubclass(cls, WordMechanism):
            return {}
        declared = {str(each.name) for each in self._extra}
        return {name: value for name, value in FOR_WORDS.items() if name in declared}

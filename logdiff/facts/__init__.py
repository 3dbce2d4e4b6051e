"""What the observations of one life add up to: facts by name, each with its evidence.

The names and shapes are those of :data:`logdiff.facts_table.FACTS`. One module sets one group of
facts; what all of them need is in :mod:`logdiff.facts.context`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.facts.backends import set_backends
from logdiff.facts.context import Context
from logdiff.facts.death import set_death
from logdiff.facts.engine import set_engine
from logdiff.facts.image import set_image
from logdiff.facts.kernels import set_fatal_kernels, set_kernels
from logdiff.facts.launch import set_launch
from logdiff.facts.memory import set_memory
from logdiff.facts.messages import set_messages
from logdiff.facts.serving import set_serving
from logdiff.facts.stages import set_stages
from logdiff.redact import redact

if TYPE_CHECKING:
    from logdiff.extract.observations import Observations
    from logdiff.model import Life

_CLEAN = frozenset(("args", "engine_config", "source_lines", "throughput"))
"""Facts that hold no secrets, or whose secrets are replaced where they are made."""


def derive(observations: Observations, number: int) -> Life:
    """The life that its observations show."""
    context = Context(observations, number)
    # In this order: whether what was not seen is null or empty depends on the stages, and the
    # figures of memory on the arguments; what is missing may have caused the death.
    set_stages(context)
    set_engine(context)
    set_kernels(context)
    set_backends(context)
    set_memory(context)
    set_serving(context)
    set_death(context)
    set_fatal_kernels(context)
    set_image(context)
    set_launch(context)
    set_messages(context)
    facts = context.life.facts
    for name, value in facts.items():
        if name.partition(".")[0] not in _CLEAN:
            facts[name] = without_secrets(value)
    return context.life


def without_secrets(value: Any) -> Any:
    """A fact without secrets; entries stay the objects that they are."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        value[:] = map(without_secrets, value)
    elif isinstance(value, dict):
        clean = {redact(key): without_secrets(item) for key, item in value.items()}
        value.clear()
        value.update(clean)
    return value

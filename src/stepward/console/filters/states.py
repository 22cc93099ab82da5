"""States and acts on a page: the sign, tone and text of a state, and the label of an act."""

from __future__ import annotations

from markupsafe import Markup

from stepward.views.actions.acts_by_state import NAMES
from stepward.views.state_symbols import LOOKS, Look, Tone

UNKNOWN = Look("?", Tone.QUIET)


def state(word: str, note: str = "") -> Markup:
    """A state as its sign, word and tone."""
    look = LOOKS.get(word, UNKNOWN)
    text = word.replace("_", " ") + note
    return Markup('<span class="state t-{}"><span class="sign" aria-hidden="true">{}</span> {}</span>').format(
        look.tone, look.sign, text
    )


def tone_of(word: str) -> str:
    """The tone of a state."""
    return str(LOOKS.get(word, UNKNOWN).tone)


def symbol_of(word: str) -> str:
    """The sign of a state."""
    return LOOKS.get(word, UNKNOWN).sign


def act_name(verb: str) -> str:
    """The label of an act's button."""
    return NAMES[verb]

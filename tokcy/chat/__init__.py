"""Conversations to text and ids, so that no message can write a control token.

jinja2, of the extra ``tokcy[chat]``, is only imported when a template is rendered.
"""

from .messages import TrustedText
from .methods import ChatMethods

__all__ = ["ChatMethods", "TrustedText"]

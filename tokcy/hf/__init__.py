"""Hugging Face ``tokenizers`` as a backend, for every model that has no plan.

``backend`` has the methods of the native one, ``segments`` what of typed segments can be done
exactly, ``decoding`` the compiled decoder for streams, ``next`` release 1 in the guise of those
before, and ``calls`` what all of them need to call it.
"""

from .backend import HuggingFaceBackend

__all__ = ["HuggingFaceBackend"]

"""What makes `tokenizers` and `transformers` encode through tokcy.

``patch`` has the public calls and puts everything in place, ``methods`` are the methods that take
the place of Hugging Face's, ``attachment`` is what an object of theirs has of tokcy, ``twins`` are
the engines, ``encoding`` makes what they return, ``watch`` notices changes, and ``settings`` and
``gate`` keep the options of calls in several threads apart.
"""

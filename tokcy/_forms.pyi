"""Unicode's normalization forms, as of Unicode 9."""

FORMS: tuple[str, ...]

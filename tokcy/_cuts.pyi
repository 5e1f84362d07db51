from tokcy._vocab import Vocabulary

class CutFilter:
    enabled: bool
    def __init__(self, vocabulary: Vocabulary) -> None: ...

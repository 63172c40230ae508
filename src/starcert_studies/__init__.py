"""The paper's studies: settings → results → figures, each into a folder of its own by `reproduce`."""

from starcert_studies.reproduce import STUDIES, ListedStudy, reproduce

__all__ = ["STUDIES", "ListedStudy", "reproduce"]

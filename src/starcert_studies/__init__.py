"""The paper's studies: settings → results → figures, each into a folder of its own by `reproduce`."""

from starcert_studies.reproduce import STUDIES, Study, reproduce

__all__ = ["STUDIES", "Study", "reproduce"]

"""The paper's studies, and one for each kind of data: settings → votes → figures, tables and checked claims."""

from starcert_studies.frame import STUDIES, ListedStudy, find_study, reproduce
from starcert_studies.report import Finished, all_page

__all__ = ["STUDIES", "Finished", "ListedStudy", "all_page", "find_study", "reproduce"]

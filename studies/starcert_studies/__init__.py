"""The paper's studies, and one for each kind of data: settings → votes → figures, tables and checked claims."""

from starcert_studies.frame import STUDIES, find_study, reproduce, why_alone
from starcert_studies.report import Finished, all_page

__all__ = ["STUDIES", "Finished", "all_page", "find_study", "reproduce", "why_alone"]

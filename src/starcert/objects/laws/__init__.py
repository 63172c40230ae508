"""Laws: the noise of one region, a transition law on the alphabet of its sites."""

from starcert.objects.laws.flip import Flip, TypedFlip, flip_from, flip_numbers
from starcert.objects.laws.law import Law, Move, probability, real_number
from starcert.objects.laws.values import Categorical, Edges
from starcert.objects.laws.written import law_from_json, law_from_text

__all__ = [
    "Categorical",
    "Edges",
    "Flip",
    "Law",
    "Move",
    "TypedFlip",
    "flip_from",
    "flip_numbers",
    "law_from_json",
    "law_from_text",
    "probability",
    "real_number",
]

"""Laws: the noise of one region, a transition law on the alphabet of its sites; and how files and commands write it."""

from starcert.objects.laws.flips import Flip, TypedFlip
from starcert.objects.laws.law import LEAST, Law, Move, axis_moves, channels_of, probability, real_number, why_not_alike
from starcert.objects.laws.mask import Mask
from starcert.objects.laws.reading import LAWS, defined_law, law_from_json, law_from_text, law_to_text
from starcert.objects.laws.values import Categorical, Edges

__all__ = ["LAWS", "LEAST", "Categorical", "Edges", "Flip", "Law", "Mask", "Move", "TypedFlip", "axis_moves",
           "channels_of", "defined_law", "law_from_json", "law_from_text", "law_to_text", "probability",
           "real_number", "why_not_alike"]  # fmt: skip

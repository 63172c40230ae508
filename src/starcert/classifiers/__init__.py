"""Base classifiers, one file an ecosystem."""

from starcert.classifiers.base import Classifier
from starcert.classifiers.callable import from_callable

__all__ = ["Classifier", "from_callable"]

"""Attribution T: what each training row does for each evaluation row."""

from cdvm.attribution.base import Attribution, MatrixAttribution, as_attribution
from cdvm.attribution.grown import GrownAttribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.attribution.mixture import MixedAttribution, mix_attributions
from cdvm.attribution.similarity import similarity_attribution

__all__ = [
    "Attribution",
    "GrownAttribution",
    "ImplicitAttribution",
    "MatrixAttribution",
    "MixedAttribution",
    "as_attribution",
    "mix_attributions",
    "similarity_attribution",
]

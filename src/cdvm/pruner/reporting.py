"""What a pruner shows: a page about rows it has chosen, and itself in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cdvm._runtime.markup import Markup, tag
from cdvm.data.columns import as_frame
from cdvm.errors import InputError
from cdvm.evaluation.smallest import Smallest
from cdvm.learners.relatives import StandIn
from cdvm.outcomes.recorded import Outcomes
from cdvm.pruner.conditions import check_length
from cdvm.pruner.selecting import BudgetSelector
from cdvm.report.html.page import write_page
from cdvm.report.output import PAGES, check_file
from cdvm.report.run import Chosen, Run
from cdvm.report.summary import summarize
from cdvm.selection import Selection

__all__ = ["Reporter"]


class Reporter(BudgetSelector):
    """The part of the estimator that shows."""

    evidence_: tuple[Outcomes, ...]

    def report(
        self,
        path: str | Path,
        selections: Any = None,
        *,
        table: Any = None,
        groups: Any = None,
        name: str = "the table",
        force: bool = False,
    ) -> Path:
        """Write a page about rows that were chosen: one HTML file that needs nothing else.

        It compares them with random rows and with all rows, draws a map of the rows and what they do for
        each other, and lists labels that are suspect. For that, some hundred more models are trained.

        Parameters
        ----------
        path : path
            A file that ends in ``.html``.
        selections : Selection or iterable of them, or what :meth:`smallest` found, optional
            Of this pruner or, of the same rows, of other methods (:func:`cdvm.select_with`), which are then
            drawn beside it; by default the rows kept at the pruner's own ``budget``.
        table : DataFrame or array, optional
            What was passed to ``fit``, to show rows as they are there; without it they are shown as models
            saw them.
        groups : sequence with a label for each row of the table, optional
            Tells rows and scores of each group too.
        name : str
            What the page calls the table.
        force : bool
            Whether a file that is there is replaced.

        Returns
        -------
        Path
        """
        check_is_fitted(self, "attribution_")
        out = Path(path)
        check_file(out, PAGES, force=force, inputs=[], argument="path")
        frame = None
        for given, argument in ((table, "table"), (groups, "groups")):
            if given is not None:
                check_length(self.split_, given, argument)
        if table is not None:
            frame = as_frame(table)
        smallest = selections if isinstance(selections, Smallest) else None
        chosen = self.told(self._to_report(selections), explained=True)
        if smallest is not None:
            chosen = replace(chosen, smallest=smallest, curve=smallest.curve)
        run = Run(
            name=name,
            split=self.split_,
            learner=self.learner_,
            learner_name=self.learner_.title,
            chosen=chosen,
            metric=self.metric,
            seed=self.seed_,
            jobs=self._plan.n_jobs,
        )
        budgets = ", ".join(str(len(s)) for s in run.selections)
        write_page(
            out,
            run,
            summarize(run),
            command=f"{self!r}.fit(X, y).select([{budgets}])",
            frame=frame,
            groups=groups,
            groups_name=str(getattr(groups, "name", None) or "group"),
            progress=self.progress,
        )
        return out

    def _to_report(self, selections: Any) -> dict[str, Selection]:
        if isinstance(selections, Smallest):
            return {} if selections.selection is None else self._to_report(selections.selection)
        if selections is None:
            selections = self.select()
        given = [selections] if isinstance(selections, Selection) else selections
        found = list(given) if isinstance(given, Iterable) else []
        if not found or not all(isinstance(s, Selection) for s in found):
            raise InputError("selections: pass a Selection, or a list of at least one")
        for selection in found:
            if not np.array_equal(selection.candidates, self.split_.rows):
                raise InputError("selections: one was made of other rows; pass this pruner's")
        return {str(k): selection for k, selection in enumerate(found)}

    def told(self, selections: dict[str, Selection], *, explained: bool, **more: Any) -> Chosen:
        """Selections with what is to be told of how they were found, and what explains them."""
        found = Chosen(selections, "cdvm", self._details() | more)
        if not explained:
            return found
        proxy, evidence = StandIn(self.proxy_, self._rows), getattr(self, "evidence_", ())
        return replace(found, attribution=self.attribution_, evidence=evidence, proxy=proxy)

    def _details(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "effort": self._effort,
            "proxy": None if self.proxy_ is self.learner_ else self.proxy_.title,
        }
        if evidence := getattr(self, "evidence_", ()):
            found |= {
                "models": sum(outcomes.n_models for outcomes in evidence),
                "inclusion": evidence[0].design.inclusion,
                "degenerate_models": sum(outcomes.degenerate for outcomes in evidence),
            }
        return found | {"rows_without_attribution": self.attribution_.n_unusable}

    def _repr_html_inner(self) -> str:
        """scikit-learn's diagram and, once fitted, what was fitted on."""
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]  # of BaseEstimator, which comes later
        if "attribution_" not in vars(self):
            return diagram
        return diagram + _fitted(self.split_.n_rows, self.attribution_.shape[1], self._details())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        return bundle | ({"text/html": self._repr_html_inner()} if "text/html" in bundle else {})


def _fitted(rows: int, evaluation: int, details: dict[str, Any]) -> Markup:
    told = [f"Fitted on {rows:,} rows, evaluated on {evaluation:,}"]
    if "models" in details:
        trained = f" {details['proxy']}" if details["proxy"] else ""
        told.append(
            f"by {details['models']:,}{trained} models of {details['inclusion']:.1%} of the rows each"
        )
    return tag("p", " ".join(told), ". ", tag("code", "select(0.05)"), " chooses rows.")

"""New rows, and rows that are withdrawn, without starting over.

*New rows.* Outcomes of models that were trained stay as they are: nothing about those models changes.
Further models see old and new rows, the new ones more often, so that each has about as many models as an old
one; they make up half of a subset at most. T weighs what models of each time say by how many tell, see
:mod:`cdvm.attribution.grown`. Exact: within each time T is the estimate it always was. Approximate: the times
estimate it for other mixtures of rows (and of classes, where new rows have labels of their own), few models
tell what old rows do for new evaluation rows, and features are prepared and standardised as they were at
first.

*Rows withdrawn.* Every model that saw one is dropped, and as many are trained on the rows that stay. Whether
a model saw a row is independent of which others it saw, so the models left are what training on the rows that
stay would have given: exact. Their answers on the rows withdrawn are dropped too, also from the store, whose
files are written anew. What remains of a row withdrawn is its part in what is made of the whole table: means
and scales, names of categories, bins of trees. With features that are numbers and ``scale=False`` a linear
model has none of these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cdvm._runtime.parameters import check, whole
from cdvm.attribution.build import build_attribution
from cdvm.data.collections import features_and_labels
from cdvm.data.growing import more_labels, with_classes, with_rows, without_rows
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners import Learner
from cdvm.learners.relatives import StandIn
from cdvm.outcomes.kinds import Outcome
from cdvm.outcomes.recorded import Outcomes
from cdvm.outcomes.recording import record_outcomes
from cdvm.outcomes.storage import Address, inside
from cdvm.outcomes.store import empty_store
from cdvm.pruner.conditions import rows_of_table
from cdvm.pruner.memory_plan import MemoryPlan, plan_memory
from cdvm.pruner.reporting import Reporter
from cdvm.sampling import Design, DesignKind

__all__ = ["Growing"]

_OFTENER = 4.0  # new rows are in a subset, at most, than old ones at the first fit


class Growing(Reporter):
    """The part of the estimator that takes on what was fitted, and changes it with the table."""

    n_features_in_: int
    _stores: tuple[Address | None, ...]
    _changes: int

    attribution: Any
    design: DesignKind
    memory_limit: int | str | None
    n_jobs: int | None
    n_models: int
    outcome: Outcome | None
    store: Address | None

    def update(self, X_new: Any, y_new: Any = None, *, n_models: int | None = None) -> Self:
        """Take in rows that came since, at the end of the table.

        Parameters
        ----------
        X_new, y_new : as for ``fit``
            Rows with the same columns. Labels that no row had become classes, which only further models know.
        n_models : int, optional
            Further models to train; by default as many as give every new row about as many models as an old
            one, a quarter of ``n_models`` for a tenth of new rows.
        """
        self._check_change(n_models)
        X, y = features_and_labels(X_new, y_new, "X_new")
        if y is None:
            raise InputError("y_new is missing: pass the labels of the new rows")
        index = np.asarray(X.index) if hasattr(X, "iloc") else None
        classes, codes = more_labels(self.split_, y)
        split = with_rows(with_classes(self.split_, classes), X, codes, index, self.seed_)
        alone = self._rows is self.split_
        rows = split if alone else with_rows(with_classes(self._rows, classes), X, codes, index, self.seed_)
        evidence = tuple(outcomes.grown(len(codes)) for outcomes in getattr(self, "evidence_", ()))
        if not evidence:
            return self._change(split, rows, (), (), None, 0)
        design, models = self._further(split, len(codes), n_models)
        return self._change(split, rows, evidence, self._stores, design, models)

    def forget(self, rows: Any, *, n_models: int | None = None) -> Self:
        """Withdraw rows: afterwards it is as if they had never been there, but for how features are prepared.

        The table is then the one without them, and positions are those in it.

        Parameters
        ----------
        rows : positions, mask or labels of the index
        n_models : int, optional
            Models to train in the place of those that saw one of the rows; by default as many as these.
        """
        self._check_change(n_models, least=0)
        gone = np.unique(rows_of_table(self.split_, rows, "rows"))
        if not len(gone):
            raise InputError("rows names no row: pass positions, a mask or labels of rows to forget")
        split = without_rows(self.split_, gone)
        alone = self._rows is self.split_
        shown = split if alone else without_rows(self._rows, gone)
        before = getattr(self, "evidence_", ())
        after = [outcomes.without(gone) for outcomes in before]
        dropped = sum(o.n_models for o in before) - sum(o.n_models for o in after)
        mark = shown.fingerprint()
        after = [_marked(outcomes, mark) for outcomes in after]
        for outcomes, place in zip(after, self._stores, strict=True):
            if place is not None:
                empty_store(place, outcomes.manifest)
                if outcomes.n_models:
                    outcomes.save(place)
        left = [(o, place) for o, place in zip(after, self._stores, strict=True) if o.n_models]
        evidence, stores = tuple(o for o, _ in left), tuple(place for _, place in left)
        design = None
        if before:
            first = before[0].design
            design = Design(split.n_rows, first.inclusion, first.kind, self.seed_ + self._changes + 1)
        models = dropped if n_models is None else n_models
        return self._change(split, shown, evidence, stores, design, models)

    def _further(self, split: Split, new: int, n_models: int | None) -> tuple[Design, int]:
        """How subsets of old and new rows are drawn, and how many."""
        p, n = self.evidence_[0].design.inclusion, split.n_rows
        most = max(p, min(_OFTENER * p, p * n / (2 * new), 0.5))
        often = most if n_models is None else min(most, max(p, p * self.n_models / n_models))
        models = int(np.ceil(self.n_models * p / often)) if n_models is None else n_models
        seldom = (p * n - often * new) / (n - new)
        seed = self.seed_ + self._changes + 1
        return Design(n, seldom, seed=seed, recent=new, recent_inclusion=often), models

    def _change(
        self,
        split: Split,
        rows: Split,
        evidence: tuple[Outcomes, ...],
        stores: tuple[Address | None, ...],
        design: Design | None,
        models: int,
    ) -> Self:
        """Train further models, and take on the changed table."""
        plan = self._plan
        if design is not None:
            trained = models + sum(outcomes.n_models for outcomes in evidence)
            plan = plan_memory(self.memory_limit, split, design, trained, self.n_jobs)
        if design is not None and models:
            place = None if self.store is None else inside(self.store, f"change-{self._changes + 1}")
            learner = plan.bounded(self.proxy_)
            given: dict[str, Any] = {"outcome": self.outcome, "store": place}
            runs: dict[str, Any] = {"n_jobs": plan.n_jobs, "progress": self.progress}
            evidence += (record_outcomes(rows, learner, design, range(models), **given, **runs),)
            stores += (place,)
        columns = getattr(self, "feature_names_in_", None)
        known = None if columns is None else columns.tolist()
        features, changes = self.n_features_in_, self._changes + 1
        proxy = StandIn(self.proxy_, rows)
        self._keep(split, self.learner_, proxy, evidence, plan, self.seed_, known, stores, changes)
        self.n_features_in_ = features
        return self

    def _check_change(self, n_models: int | None, least: int = 2) -> None:
        check_is_fitted(self, "attribution_")
        self._check_params()
        if n_models is not None:
            check({"n_models": whole(least)}, {"n_models": n_models})

    def _keep(
        self,
        split: Split,
        learner: Learner,
        proxy: StandIn,
        evidence: tuple[Outcomes, ...],
        plan: MemoryPlan,
        seed: int,
        columns: list[Any] | None,
        stores: tuple[Address | None, ...] | None = None,
        changes: int = 0,
    ) -> Self:
        """Take on all that was fitted at once, and nothing of an earlier fit."""
        fitted: dict[str, Any] = {
            "attribution_": build_attribution(
                self.attribution,
                split,
                evidence,
                compact=plan.compact,
                n_jobs=plan.n_jobs,
                progress=self.progress,
            ),
            "split_": split,
            "learner_": learner,
            "proxy_": proxy.learner,
            "_rows": proxy.split,
            "seed_": seed,
            "n_features_in_": int(split.X.shape[1]) if columns is None else len(columns),
            "_plan": plan,
            "_stores": (self.store,) * bool(evidence) if stores is None else stores,
            "_changes": changes,
        }
        if evidence:
            fitted |= {"outcomes_": evidence[0], "evidence_": evidence}
        if columns is not None and all(isinstance(c, str) for c in columns):
            fitted["feature_names_in_"] = np.asarray(columns, dtype=object)
        if split.classes is not None:
            fitted["classes_"] = split.classes
        own = ("_rows", "_plan", "_stores", "_changes", "_base", "_kept", "_grounds")
        old = {name for name in vars(self) if name.endswith("_") or name in own}
        self.__dict__ = {name: value for name, value in vars(self).items() if name not in old} | fitted
        return self


def _marked(outcomes: Outcomes, fingerprint: str) -> Outcomes:
    """The outcomes as those of other rows."""
    return replace(outcomes, manifest={**outcomes.manifest, "fingerprint": fingerprint})

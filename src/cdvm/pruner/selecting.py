"""From what was fitted to the rows to keep, for any budgets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cdvm.attribution.base import Attribution
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.evaluation.cross_fitting import CrossFit, Held, cross_fit
from cdvm.evaluation.curve import CURVE_BUDGETS, Curve
from cdvm.evaluation.metrics import make_metric
from cdvm.evaluation.smallest import Smallest, check_promise, smallest_set
from cdvm.learners import Learner, SklearnLearner
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.feasibility import can_be_met
from cdvm.optimize.program import Program, resolve_budget
from cdvm.optimize.solvers.dispatch import Method
from cdvm.pruner.by_budget import build_program, select_by_budget
from cdvm.pruner.conditions import conditions_on, importance_of, refuse_comparing, rows_of_table
from cdvm.pruner.grounds import Grounds, find_grounds
from cdvm.pruner.memory_plan import MemoryPlan
from cdvm.pruner.portfolio import Effort, Portfolio
from cdvm.pruner.resampling import Resampler
from cdvm.pruner.settings import GRID_ALPHAS, GRID_KAPPAS, refine_options
from cdvm.selection import Selection
from cdvm.valuation.explain import Explanation, explain_row

__all__ = ["BudgetSelector"]

_FOLD_FITS = 100  # of a set that is refined without a fold: fewer than in the end, so it is no better
_FOLD_GAP = 0.03  # of its program, three times as large and half the time: exchanges make good for it


class BudgetSelector(Resampler):
    """The half of the estimator that chooses; the other half fits."""

    attribution_: Attribution
    learner_: Learner
    proxy_: Learner
    seed_: int
    _rows: Split
    _plan: MemoryPlan
    _base: Program
    _grounds: Grounds

    budget: float
    alpha: float
    kappa: float | Literal["auto"]
    tune: Literal["grid"] | None
    solver: Method
    rounding: Literal["swap", "top"]
    refine: bool | int | dict[str, Any]
    metric: Any
    effort: Effort | None
    seconds: float | None
    progress: bool | None

    @abstractmethod
    def _check_params(self) -> None:
        """Complain about settings that cannot be used."""

    @property
    @abstractmethod
    def _effort(self) -> Effort:
        """That asked for, or what the other settings mean."""

    def select(
        self,
        budget: Any = None,
        *,
        keep: Any = None,
        drop: Any = None,
        groups: Any = None,
        at_least: Any = None,
        at_most: Any = None,
        together: Any = None,
        costs: Any = None,
        weights: Any = None,
        start: Any = None,
    ) -> Any:
        """The rows to keep for a budget, or for each of several.

        Conditions and weights are part of the program: the bound is on sets that fulfil them. Where there are
        any, the program alone decides, unless ``refine``, ``effort`` or ``metric`` was set. Rows are those of
        the table that was passed to ``fit``.

        Parameters
        ----------
        budget : int, float or an iterable of them, optional
            Rows to keep, as a count or as a fraction of the training rows; what may be spent, with ``costs``.
            Each is solved anew: the best 5 % are not a part of the best 10 %.
        keep, drop : positions, mask or labels of the index, optional
            Rows that must be kept, and rows that may not.
        groups : sequence with a label for each row, optional
        at_least, at_most : number or fraction, or a dict of them by group, optional
            Rows to keep of each group: a whole number, or a fraction of the group's rows.
        together : sequence with a label for each row, optional
            Rows of one label are kept or dropped together; the set may then be smaller than the budget.
        costs : sequence with a number for each row, optional
        weights : sequence with a number for each evaluation row (or row of the table), optional
            How important it is to be right there.
        start : Selection or positions, optional
            Where refining begins in the place of the program's rows: those kept before an update, say. The
            program's are added or the weakest taken away where the budget is another.

        Returns
        -------
        Selection, or a list of them
        """
        check_is_fitted(self, "attribution_")
        self._check_params()
        if costs is not None and budget is None:
            raise InputError("budget is missing: where rows have costs it is what may be spent")
        conditions = conditions_on(
            self.split_,
            keep=keep,
            drop=drop,
            groups=groups,
            at_least=at_least,
            at_most=at_most,
            together=together,
            costs=costs,
        )
        asked: dict[str, Any] = {"conditions": conditions, "importance": importance_of(self.split_, weights)}
        refuse_comparing(self._effort, self.effort, self.metric, conditions, weights)
        if start is not None:
            if self.refine is False or conditions is not None:
                wrong = "CDVM(refine=True)" if self.refine is False else "no conditions"
                raise InputError(f"start= is where refining begins: use it with {wrong}, or leave it out")
            given = start.indices if isinstance(start, Selection) else start
            asked["start"] = rows_of_table(self.split_, given, "start")
        budget = self.budget if budget is None else budget
        if isinstance(budget, Iterable) and not isinstance(budget, str):
            return self._select_all(list(budget), **asked)
        return self._select_all([budget], **asked)[0]

    def curve(
        self,
        budgets: Iterable[float] = CURVE_BUDGETS,
        *,
        folds: int = 5,
        metric: Any = None,
        **conditions: Any,
    ) -> Curve:
        """How good sets of several sizes are, on rows that had no part in choosing them.

        Everything is done anew without each fold of the rows, and asked of it
        (:mod:`cdvm.evaluation.cross_fitting`); sets are refined as by :meth:`smallest`, not at low effort.

        Parameters
        ----------
        budgets : iterable of float
            Fractions of the rows, or of what all rows cost.
        folds : int
        metric : str or scikit-learn scorer, optional
            What scores are; the pruner's own metric, or else accuracy or R².
        **conditions
            Those of :meth:`select` but weights; limits on groups go down with the rows of a fold.
        """
        refining = self.refine if self.effort == "low" else self._refining(None)
        fitted, _ = self._cross_fit(folds, metric, conditions, refining)
        return fitted.curve(budgets, progress=self.progress)

    def smallest(
        self,
        within: float | None = None,
        *,
        at_score: float | None = None,
        confidence: float = 0.9,
        folds: int = 5,
        least: float = 0.005,
        metric: Any = None,
        refine: bool | None = None,
        **conditions: Any,
    ) -> Smallest:
        """The smallest set whose model is as good as one on all rows, but for ``within`` of the score.

        It is found by walking down fixed sizes, and decided by rows that had no part in choosing: see
        :mod:`cdvm.evaluation.smallest`. Sets are refined, with at most 100 fits without each fold, and with
        all that the pruner's ``refine`` stands for in the end. Where rows have costs it is the cheapest set.

        Parameters
        ----------
        within : float, optional
            What may be lost of the score: 0.01, the default, is one point.
        at_score : float, optional
            The score to reach instead.
        confidence : float
            How sure that is to be of the one set that is found.
        folds : int
        least : float
            Smallest fraction of the rows, or of the costs, to try.
        metric : as for :meth:`curve`
        refine : bool, optional
            By default where the pruner refines, and with learners that train many models at once.
        **conditions
            As for :meth:`curve`.
        """
        check_promise(within, at_score, confidence, least)
        check_is_fitted(self, "attribution_")
        refining = self._refining(refine)
        fitted, asked = self._cross_fit(folds, metric, conditions, refining)
        whole = next(iter(asked), None)

        def possible(fraction: float) -> bool:
            return all(can_be_met(one, _budget(fraction, one.n_rows, one)) for one in asked)

        def select(fraction: float) -> Selection:
            budget = _budget(fraction, self._rows.n_rows, whole)
            return self._select_all([budget], conditions=whole, refine=refining, metric=metric)[0]

        return smallest_set(
            fitted,
            select,
            within=within,
            at_score=at_score,
            confidence=confidence,
            least=least,
            possible=possible,
            priced=whole is not None and whole.costs is not None,
            progress=self.progress,
        )

    def explain(self, row: int, selection: Selection | None = None, *, top: int = 5) -> Explanation:
        """Why a row was kept, or was not: what it does for which rows, and what could take its place.

        Parameters
        ----------
        row : int
            Position in the table.
        selection : Selection, optional
            What to explain it beside; by default the rows kept at the pruner's own ``budget``.
        top : int
            Rows to name of each kind.
        """
        check_is_fitted(self, "attribution_")
        beside = self.select() if selection is None else selection
        evidence = getattr(self, "evidence_", ())
        return explain_row(row, beside, self.split_, self.attribution_, evidence=evidence, top=top)

    @abstractmethod
    def _anew(self, split: Split) -> BudgetSelector:
        """The same, fitted on other rows."""

    def _refining(self, wanted: bool | None) -> bool | int | dict[str, Any]:
        """How a search for a size refines."""
        compares = self.effort in ("medium", "high")
        if wanted is None and self.refine is False:
            wanted = not compares and not isinstance(self.proxy_, SklearnLearner)
        if wanted and compares:
            raise InputError(f"refine=True is part of effort={self.effort!r}: leave it out")
        return self.refine if wanted is None or (wanted and self.refine is not False) else wanted

    def _cross_fit(
        self, folds: int, metric: Any, given: dict[str, Any], refine: bool | int | dict[str, Any]
    ) -> tuple[CrossFit, list[Conditions]]:
        """What is fitted without each fold; the conditions on all rows and on those without a fold."""
        check_is_fitted(self, "attribution_")
        self._check_params()
        if given.get("weights") is not None:
            raise InputError("weights= is for select: sizes are compared by rows that count the same")
        whole = conditions_on(self.split_, **given)
        refuse_comparing(self._effort, self.effort, None, whole, None)
        asked = [] if whole is None else [whole]

        def fit(held: Held) -> Callable[[float], NDArray[np.int64]]:
            pruner, inner = self._anew(held.split), None if whole is None else whole.restricted(held.inside)
            asked.extend([] if inner is None else [inner])
            return lambda budget: pruner._select_all([budget], conditions=inner, **quick)[0].rows

        quick: dict[str, Any] = {"refine": refine, "metric": metric}
        quick |= {"tolerance": _FOLD_GAP} if self.solver == "auto" else {}
        if refine is not False:
            options = refine_options(refine)
            quick["refine"] = options | {"fits": min(options.get("fits") or _FOLD_FITS, _FOLD_FITS)}
        own: dict[str, Any] = {"seed": self.seed_, "n_jobs": self._plan.n_jobs, "progress": self.progress}
        own["costs"] = None if whole is None else whole.costs
        made = make_metric(self.metric if metric is None else metric, self.split_)
        return cross_fit(self.split_, self.learner_, made, fit, folds=folds, **own), asked

    def _select_all(
        self,
        budgets: list[Any],
        *,
        conditions: Conditions | None = None,
        importance: NDArray[np.float64] | None = None,
        start: NDArray[np.int64] | None = None,
        refine: bool | int | dict[str, Any] | None = None,
        metric: Any = None,
        tolerance: float | None = None,
    ) -> list[Selection]:
        if "_base" not in vars(self):
            self._base = build_program(self.attribution_, dense=self._plan.dense, progress=self.progress)
        searched = refine is not None
        told = conditions is not None or importance is not None
        grid, refine = self.tune == "grid", self.refine if refine is None else refine
        own: dict[str, Any] = {"seed": self.seed_, "n_jobs": self._plan.n_jobs, "progress": self.progress}
        proxy, rows = self.proxy_, self._rows
        selections = select_by_budget(
            self._base,
            budgets,
            split=rows,
            learner=proxy,
            alphas=GRID_ALPHAS if grid else (self.alpha,),
            kappas=GRID_KAPPAS if grid else (self.kappa,),
            solver=self.solver if self._plan.dense or self.solver != "auto" else "first_order",
            rounding=self.rounding,
            refining=None if refine is False else refine_options(refine),
            conditions=conditions,
            importance=importance,
            start=start,
            metric=self.metric if metric is None else metric,
            tolerance=tolerance,
            **own,
        )
        effort = self._effort
        if effort == "low" or (self.effort is None and (searched or (told and self.metric is None))):
            return selections
        if "_grounds" not in vars(self):
            self._grounds = find_grounds(self.split_, rows, proxy, **own)
        ways = Portfolio(
            self._grounds,
            self.learner_,
            proxy,
            effort,
            self.seconds,
            conditions=conditions,
            metric=self.metric,
            **own,
        )
        return [ways.choose(selection) for selection in selections]


def _budget(fraction: float, n_rows: int, conditions: Conditions | None) -> float:
    """A fraction of the rows as their number, or of what they cost as an amount."""
    if conditions is None or conditions.costs is None:
        return resolve_budget(fraction, n_rows)
    return fraction * float(conditions.costs.sum())

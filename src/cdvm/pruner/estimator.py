"""CDVM: the estimator that walks the whole way from a table to the rows to keep."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone

from cdvm._runtime.parameters import check, refuse_unused
from cdvm._runtime.progress import Progress
from cdvm.data.checks import column_names
from cdvm.data.collections import features_and_labels
from cdvm.data.scaling import Scale, scaled_for
from cdvm.data.split import HOLDOUT, Split
from cdvm.errors import InputError
from cdvm.evaluation.refinement.refine import check_options
from cdvm.learners import Learner, make_learner
from cdvm.learners.needs import PrepareFor, prepare_for, reads_missing
from cdvm.learners.relatives import StandIn, stand_in
from cdvm.optimize.solvers.dispatch import Method
from cdvm.outcomes.kinds import Outcome
from cdvm.outcomes.recorded import Outcomes
from cdvm.outcomes.recording import record_outcomes
from cdvm.pruner.growing import Growing
from cdvm.pruner.memory_plan import plan_memory
from cdvm.pruner.portfolio import Effort
from cdvm.pruner.settings import RULES, check_settings, effort_of, refine_options
from cdvm.sampling import N_MODELS, Design, DesignKind, default_inclusion, seed_of

__all__ = ["CDVM"]


class CDVM(Growing, BaseEstimator):  # type: ignore[misc]
    """Choose the rows of a training set to keep.

    ``fit`` trains many small models on random subsets and estimates what every row does for every evaluation
    row; ``select`` then chooses the best rows for a budget, each budget anew. Evaluation rows are validation
    rows or, where none are given, the rows themselves, each evaluated by the models that did not see it.

    Parameters
    ----------
    learner : str, scikit-learn estimator or Learner, default="logistic"
        The model the kept rows are for.
    proxy : "auto", None, str, scikit-learn estimator or Learner, default="auto"
        The model that is trained thousands of times in its place. ``"auto"``: a fast relative of an estimator
        or PyTorch module that would be fitted one by one (see :func:`cdvm.learners.relatives.proxy_for`), on
        standardised features; None: the learner itself.
    effort : {"low", "medium", "high"}, optional
        ``"low"`` solves the program, as in the paper. ``"medium"`` also compares several ways to choose with
        each other and with random rows, by training the learner itself, and refines the best (see
        :mod:`cdvm.pruner.portfolio`); ``"high"`` does so with four times the models. By default medium, but
        low where ``alpha``, ``kappa``, ``tune``, ``rounding``, ``refine`` or conditions of :meth:`select` say
        how rows are to be chosen.
    seconds : float, optional
        Time for the searches of a budget with more than low effort, about. Only without it is the answer the
        same each time.
    n_models : int, default=5000
        Subset models to train.
    inclusion : float or "auto", default="auto"
        Probability of a row to be in a subset. ``"auto"`` is the paper's 0.03, or what it takes for subsets
        of about 10 rows, 3 per class, and 8 leaves of trees whose leaves have a least size.
    budget : int or float, default=0.1
        Rows that ``fit_resample``, ``sample_indices_`` and ``get_support`` keep: a count or a fraction.
    alpha : float in [0, 1], default=0.5
    kappa : float >= 0 or "auto", default="auto"
        Parameters of the program, see :mod:`cdvm.optimize.program`.
    tune : {None, "grid"}, default=None
        ``"grid"`` solves for every alpha and kappa of the paper's grid and keeps, for each budget, the set
        whose model is best on the evaluation rows; ``alpha`` and ``kappa`` then stay as they are.
    design : {"bernoulli", "fixed", "bootstrap"}, default="bernoulli"
        How subsets are drawn.
    outcome : {"correct", "margin", "squared_error"} or callable, optional
        What is recorded per model and evaluation row: right or wrong, or the negative squared error.
    solver : str, default="auto"
        Method of :func:`cdvm.solve`.
    rounding : {"swap", "top"}, default="swap"
        From weights to rows: those of largest weight as in the paper (``"top"``), or these improved by
        exchanges, with some rows of each class (see :func:`cdvm.optimize.rounding.class_floors`).
    validation : {"auto", "out_of_bag", "holdout"}, default="auto"
        Which rows are evaluation rows where ``fit`` gets no validation rows: the rows themselves (a random
        5,000 of a larger table), the default, or a stratified part of the rows, which is never kept.
    refine : bool, int or dict, default=False
        Improve the rows further by retraining, see :func:`cdvm.refine`: with its defaults, with so many
        fits for each budget, or with its keyword arguments, e.g. ``{"seconds": 60}``.
    metric : str or scikit-learn scorer, optional
        What sets are compared by, see :func:`cdvm.evaluate_sets`; accuracy or R².
    validation_size : float, default=0.2
        Fraction of the rows held out by ``validation="holdout"``.
    attribution : {"models", "similarity", "mixture"}, default="models"
        Where T comes from: subset models as in the paper, the similarity of rows and evaluation rows without
        any model (see :mod:`cdvm.attribution.similarity`), or the best combination of both, for few models.
    prepare : {"auto", True, False} or Preparation, default="auto"
        How columns of a DataFrame become features; arrays stay as they are. ``"auto"``: they go to a pipeline
        as they are, to boosted trees with categories and missing values, to others as numbers, by a
        :class:`cdvm.Preparation` of the training rows. True: always as numbers. False: not at all.
    scale : {"auto", True, False}, default="auto"
        Whether models get features standardised over the training rows. ``"auto"``: for a learner given by
        name; an estimator or a Learner gets them as they are.
    store : path, optional
        Directory for outcomes; a run that was interrupted goes on from there.
    memory_limit : int or str, optional
        What the process may hold in all, data and libraries included: bytes, or a text such as ``"4GB"``;
        see :mod:`cdvm.pruner.memory_plan`.
    n_jobs : int, default=-1
        Parallel tasks; -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState or None
    progress : bool, optional
        Show progress bars; by default on a terminal.

    Attributes
    ----------
    outcomes_ : Outcomes
    attribution_ : Attribution
    classes_ : ndarray
        Not there for regression.
    split_ : Split
        The rows as models saw them; ``split_.preparation.report_`` tells what became of each column.
    learner_, proxy_ : Learner
        The model the rows are for, and the one that is trained in its place.
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where ``X`` had column names.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> pruner = CDVM(learner="ridge", n_models=200, inclusion=0.1, n_jobs=1, random_state=0)
    >>> keep = pruner.fit(X, y).select(12)
    >>> len(keep), X[keep.indices].shape
    (12, (12, 13))
    """

    def __init__(
        self,
        learner: Any = "logistic",
        *,
        proxy: Any = "auto",
        effort: Effort | None = None,
        seconds: float | None = None,
        n_models: int = N_MODELS,
        inclusion: float | Literal["auto"] = "auto",
        budget: float = 0.1,
        alpha: float = 0.5,
        kappa: float | Literal["auto"] = "auto",
        tune: Literal["grid"] | None = None,
        design: DesignKind = "bernoulli",
        outcome: Outcome | None = None,
        solver: Method = "auto",
        rounding: Literal["swap", "top"] = "swap",
        validation: Literal["auto", "out_of_bag", "holdout"] = "auto",
        refine: bool | int | dict[str, Any] = False,
        metric: Any = None,
        validation_size: float = HOLDOUT,
        attribution: Literal["models", "similarity", "mixture"] = "models",
        prepare: PrepareFor = "auto",
        scale: Scale = "auto",
        store: str | Path | None = None,
        memory_limit: int | str | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.learner = learner
        self.proxy = proxy
        self.effort = effort
        self.seconds = seconds
        self.n_models = n_models
        self.inclusion = inclusion
        self.budget = budget
        self.alpha = alpha
        self.kappa = kappa
        self.tune = tune
        self.design = design
        self.outcome = outcome
        self.solver = solver
        self.rounding = rounding
        self.validation = validation
        self.refine = refine
        self.metric = metric
        self.validation_size = validation_size
        self.attribution = attribution
        self.prepare = prepare
        self.scale = scale
        self.store = store
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def fit(
        self, X: Any, y: Any = None, X_val: Any = None, y_val: Any = None, *, validation: str | None = None
    ) -> CDVM:
        """Estimate what every row of ``X`` does for every evaluation row.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features), or list of texts
            Or a data set of Hugging Face, of which ``y`` names a column, or of PyTorch, with labels.
        y : sequence of n_rows labels (or targets)
        X_val, y_val : the same for validation rows, optional
            Without them the parameter ``validation`` decides.
        validation : {"auto", "out_of_bag", "holdout"}, optional
            Goes before the parameter of the same name.
        """
        self._check_params()
        learner = make_learner(self.learner)
        X, y = features_and_labels(X, y)
        X_val, y_val = features_and_labels(X_val, y_val, "X_val")
        if y is None:
            raise InputError("y is missing: this estimator requires y to be passed, but the target y is None")
        wanted = self.validation if validation is None else validation
        check(RULES, {"validation": wanted})
        default = None if X_val is not None else "out_of_bag"
        seed = seed_of(self.random_state)
        with Progress("checking rows", enabled=self.progress):
            split = Split.from_arrays(
                X,
                y,
                X_val,
                y_val,
                task=learner.task,
                validation=default if wanted == "auto" else wanted,  # type: ignore[arg-type]  # checked
                validation_size=self.validation_size,
                random_state=np.random.RandomState(seed),
                prepare=prepare_for(self.learner, learner, X, self.prepare, self.scale),
            )
        return self._fit_split(split, learner, seed, column_names(X))

    def fit_split(self, split: Split) -> CDVM:
        """As :meth:`fit`, on rows already split."""
        self._check_params()
        self._refuse_holdout()
        return self._fit_split(split, make_learner(self.learner), seed_of(self.random_state), None)

    def fit_outcomes(self, split: Split, outcomes: Outcomes) -> CDVM:
        """As :meth:`fit_split`, from outcomes recorded earlier on the same rows; no model is trained."""
        self._check_params()
        self._refuse_holdout()
        if self.attribution == "similarity":
            raise InputError("attribution='similarity' has no use for outcomes: call fit_split")
        seed, recorded = seed_of(self.random_state), outcomes.manifest["fingerprint"]
        learner = make_learner(self.learner)
        # recorded on the rows as they are, or as fit() would have shown them to the models
        shown = scaled_for(self.learner, split, self.scale)
        proxy = stand_in(self.proxy, learner, shown)
        if recorded == split.fingerprint() != proxy.split.fingerprint():
            proxy = StandIn(proxy.learner, split)
            shown = split if proxy.learner is learner else shown
        if recorded != proxy.split.fingerprint():
            raise InputError("outcomes are of other rows than split: record them anew")
        plan = plan_memory(self.memory_limit, shown, outcomes.design, outcomes.n_models, self.n_jobs)
        return self._keep(shown, learner, proxy, (outcomes,), plan, seed, None)

    def _fit_split(self, split: Split, learner: Learner, seed: int, columns: Any) -> CDVM:
        check_options({"metric": self.metric} | refine_options(self.refine), split)
        split = scaled_for(self.learner, split, self.scale)
        proxy = stand_in(self.proxy, learner, split)
        inclusion = self.inclusion
        if inclusion == "auto":
            inclusion = default_inclusion(split.n_rows, split.n_classes, proxy.learner.enough_rows)
        design = Design(split.n_rows, inclusion, self.design, seed)
        trained = 0 if self.attribution == "similarity" else int(self.n_models)
        plan = plan_memory(self.memory_limit, split, design, trained, self.n_jobs)
        if not trained:
            return self._keep(split, learner, proxy, (), plan, seed, columns)
        outcomes = record_outcomes(
            proxy.split,
            plan.bounded(proxy.learner),
            design,
            range(int(self.n_models)),
            outcome=self.outcome,
            store=self.store,
            n_jobs=plan.n_jobs,
            progress=self.progress,
        )
        return self._keep(split, learner, proxy, (outcomes,), plan, seed, columns)

    def _anew(self, split: Split) -> CDVM:
        own = {name: _DEFAULTS[name] for name in ("store", "prepare", "validation", "validation_size")}
        if self.effort is None and self._effort != "low":
            own |= {"effort": "low", "metric": None}
        if self.solver == "auto":  # to 1 %, ten times as fast: that much is made good by exchanges
            own["solver"] = "first_order"
        other: CDVM = clone(self).set_params(**own, random_state=self.seed_, progress=False)
        return other.fit_split(split)

    def _check_params(self) -> None:
        check_settings(self.get_params(deep=False), _DEFAULTS)

    @property
    def _effort(self) -> Effort:
        return effort_of(self.get_params(deep=False), _DEFAULTS)

    def _refuse_holdout(self) -> None:
        given = {name: getattr(self, name) for name in ("prepare", "validation", "validation_size")}
        refuse_unused(given, _DEFAULTS, "a split, which has its features and evaluation rows")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = reads_missing(self.learner)
        tags.target_tags.required = True
        tags.non_deterministic = self.random_state is None
        return tags


_DEFAULTS = {name: parameter.default for name, parameter in signature(CDVM).parameters.items()}

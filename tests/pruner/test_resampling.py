import numpy as np
import pyarrow

from cdvm import CDVM


def test_resampling_takes_other_kinds_of_labels(table):
    X, y = table
    pruner = CDVM("ridge", effort="low", n_models=20, n_jobs=1, random_state=0, budget=20)
    X_kept, y_kept = pruner.fit_resample(pyarrow.Table.from_pandas(X, preserve_index=False), pyarrow.array(y))
    assert (X_kept.num_rows, len(y_kept)) == (20, 20)
    assert pruner.feature_names_in_.tolist() == list(X.columns)


def test_resampling_in_the_manner_of_imbalanced_learn(table):
    X, y = table
    pruner = CDVM("naive_bayes", effort="low", n_models=60, n_jobs=1, random_state=0, budget=20)
    X_kept, y_kept = pruner.fit_resample(X, y)
    assert X_kept.index.tolist() == X.index[pruner.sample_indices_].tolist()
    assert y_kept.index.tolist() == pruner.sample_indices_.tolist()
    assert pruner.get_support().sum() == 20
    assert (np.flatnonzero(pruner.get_support()) == pruner.get_support(indices=True)).all()
    pruner.set_params(budget=10)
    assert len(pruner.sample_indices_) == 10

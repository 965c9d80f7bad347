import numpy as np

from cdvm.benchmark.figures import clusters as figure_clusters


def test_orders_of_removal_are_the_papers():
    ax = figure_clusters.cluster_overview().axes[3]
    found = {c.get_label(): c.get_ydata() for c in ax.lines}
    # a network that has seen one class alone is right about half of the test rows
    np.testing.assert_allclose(found["one of each cluster last"], [1, 1, 1, 1, 1, 0.75, 0.5, 0.5])
    np.testing.assert_allclose(found["lowest Shapley value first"], [1, 1, 1, 0.75, 0.75, 0.5, 0.5, 0.5])
    removed = [text.get_text() for text in ax.texts]
    assert sorted(removed[:7]) != removed[:7]  # the order of removal, row by row
    assert len(set(removed[:7])) == len(set(removed[7:])) == 7


def test_without_a_cluster_a_quarter_of_the_test_rows_is_lost():
    titles = [ax.get_title() for ax in figure_clusters.cluster_removed().axes]
    assert titles == [f"without cluster {k}: accuracy 0.75" for k in (1, 2, 3, 4)]

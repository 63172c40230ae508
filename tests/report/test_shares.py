"""Maps and curves say what the certificates say, radius by radius."""

from itertools import combinations, product

import numpy as np
import pytest
from report_worlds import FOUR, TWO, ragged, random_counts, world

import starcert as sc
from starcert.archive import Archive
from starcert.claims.metrics import has_sites
from starcert.objects.words import Words
from starcert.report.blocks import Shade, TableBlock
from starcert.report.shares import ShareGrid, map_sections


@pytest.mark.parametrize("labels", [None, [0, 1, 0, 1, 0, None]], ids=["no class known", "classes"])
@pytest.mark.parametrize(("noise", "partition"), [(TWO, None), (TWO, ragged), (FOUR, None)])
def test_a_plane_counts_the_rows_that_are_right_and_certified(noise, partition, labels):
    archive, _ = world(noise, random_counts(6, 2, seed=5), labels=labels, partition=partition)
    certificates, n = archive.certificates, len(noise.axes)
    known = np.array([label is not None for label in archive.labels]) if labels else np.ones(6, bool)
    right = certificates.right(archive.labels) if labels else np.ones(6, bool)
    for axes in [(axis,) for axis in range(n)] + list(combinations(range(n), 2)):
        plane = ShareGrid.of(archive, axes, 20)
        among = known & has_sites(certificates)[:, list(axes)].all(axis=1)
        assert plane.whole == among.sum()
        for place in product(*(range(len(ticks)) for ticks in plane.ticks)):
            at = {axis: plane.ticks[k][count] for k, (axis, count) in enumerate(zip(axes, place, strict=True))}
            radius = tuple(at.get(axis, 0) for axis in range(n))
            expected = (certificates.certified(radius) & right)[among].mean()
            assert plane.shares[place] == pytest.approx(expected)


def test_long_axes_are_tabulated_in_steps():
    noise = sc.Noise(core=0.05, rest=0.49)
    partition = sc.Partition.from_node_sets({"core": range(6), "rest": range(6, 12)})
    archive, _ = world(
        noise, [[5000, 0]], partition=lambda graph: partition, known_capacity=False, max_radius=(5, 10**6)
    )
    plane = ShareGrid.of(archive, (1,), 10)
    assert len(plane.ticks[0]) <= 12
    assert plane.ticks[0][1] > 1
    for count, share in zip(plane.ticks[0], plane.shares, strict=True):
        assert share == archive.certificates.certified((0, count))[0]


def test_cells_at_most_the_majority_class_share_are_in_brackets():
    archive, sites = world(TWO, random_counts(6, 2, seed=5), labels=[0, 1, 0, 1, 0, 0])
    (section,) = map_sections(archive, Words.of(sites, nodes=False))
    (table,) = (each for each in section.blocks if isinstance(each, TableBlock))
    cells = [cell for row in table.rows for (cell,) in row[1:]]
    assert all(isinstance(cell, Shade) for cell in cells)
    assert {cell.text.startswith("(") for cell in cells if cell.share <= 4 / 6} == {True}
    assert not [cell for cell in cells if cell.text.startswith("(") and cell.share > 4 / 6]


def test_a_share_that_says_nothing_is_a_dash():
    votes = sc.Votes([[990, 10]], selection=[[9, 1]])
    found = sc.certify(sc.clopper_pearson(votes), sc.Noise(bonds=sc.Flip(delete=0.5, add=0)), capacity=[(6, 20)])
    archive = Archive.from_result(found, labels=[0]).confirmed()
    plane = ShareGrid.of(archive, (0, 1), 12)
    assert np.isnan(plane.shares[:, 1:]).all()
    assert not np.isnan(plane.shares[:2, 0]).any()

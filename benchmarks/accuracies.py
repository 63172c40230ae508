"""Base accuracies: the kernels on the motif set, and the GCN on MUTAG by 10-fold cross-validation.

    python benchmarks/accuracies.py

The GCN is trained without and with noise (delete 0.04, add 0.2); its smoothed version is judged on the same folds. The
share of the majority class stands beside every accuracy: heavy noise makes any classifier constant.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import torch

import starcert as sc

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starcert.models.fitting import fit_with_noise
    from starcert.models.networks import GCN

NOISE, CLEAN = sc.Noise(bonds=sc.Flip(delete=0.04, add=0.2)), sc.Noise(bonds=0.0)


def kernels() -> None:
    data = sc.datasets.motif(seed=0)
    for name in ("vertex_histogram_svm", "graphlet_svm", "nspd_svm"):
        start = time.perf_counter()
        model = getattr(sc.models, name)().fit(data.train.graphs, data.train.labels)
        shares = [
            np.mean(model.predict(part.graphs) == part.labels) for part in (data.train, data.validation, data.test)
        ]
        print(f"{name:<24} train {shares[0]:.1%}  validation {shares[1]:.1%}  test {shares[2]:.1%}", end="")
        print(f"  (majority {data.test.majority_share:.0%}, {time.perf_counter() - start:.0f} s)")


def mutag(with_noise: bool, samples: int = 2000) -> tuple[float, float, float]:
    """Clean accuracy, smoothed accuracy and share of the smoothed answers' largest class, over ten folds."""
    data = sc.datasets.tu("MUTAG")
    right = smoothed_right = 0
    answers = []
    for fold, (rest, test) in enumerate(data.folds(10, seed=0)):
        taught, held, _ = data[rest].split((8 / 9, 1 / 9, 0.0), seed=fold)
        with torch.random.fork_rng():
            torch.manual_seed(fold)
            model = GCN(7, 2)
        noisy, clean = (
            sc.SmoothedClassifier(sc.classifiers.from_pyg(model, n_classes=2), noise) for noise in (NOISE, CLEAN)
        )
        fit_with_noise(
            noisy if with_noise else clean,
            taught.graphs,
            taught.labels,
            validation=(held.graphs, held.labels),
            epochs=500,
            seed=fold,
        )
        judged = data[test]
        smoothed = sc.SmoothedClassifier(sc.classifiers.from_dense(model.dense(), n_classes=2), NOISE)
        votes = clean.vote(judged.graphs, samples=1, seed=fold).counts
        right += int((votes.argmax(axis=1) == judged.labels).sum())
        found = smoothed.certify(judged.graphs, samples=samples, seed=fold, threat=sc.threats.Box((0, 0)))
        smoothed_right += int(sc.metrics.right(found, judged.labels).sum())
        answers += found.labels.tolist()
    n = len(data)
    return right / n, smoothed_right / n, max(np.bincount(answers)) / n


def main() -> None:
    torch.set_num_threads(1)
    share = sc.datasets.tu("MUTAG").majority_share
    for name, with_noise in (("trained without noise", False), ("trained with noise 0.04/0.2", True)):
        start = time.perf_counter()
        clean, smoothed, constant = mutag(with_noise)
        print(
            f"GCN on MUTAG, {name:<28} clean {clean:.1%}, smoothed {smoothed:.1%} (majority class {share:.1%}; "
            f"{constant:.1%} of the smoothed answers are one class) {time.perf_counter() - start:.0f} s"
        )
    kernels()


if __name__ == "__main__":
    main()

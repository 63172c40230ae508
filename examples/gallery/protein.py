"""A protein: is it an enzyme?"""

from picture import draw

import starcert as sc

train, _, test = sc.datasets.tu("PROTEINS").split(seed=0)
kernel = sc.kernels.WeisfeilerLehman(rounds=1, node_labels="label", normalize=True)
machine = sc.models.KernelSVM(kernel, C=10).fit(train.graphs, train.labels)

noise = sc.Noise(alike=sc.Flip(delete=0.1, add=0.01), unlike=sc.Flip(delete=0.1, add=0.01))
smoothed = sc.SmoothedClassifier(
    sc.classifiers.from_sklearn(machine),
    noise,
    regions=sc.regions.node_labels("label", inside="alike", between="unlike"),  # pairs of one kind, and of two
)
problem = smoothed.problem(test.graphs)
result = smoothed.certify(problem, samples=1_000, alpha=0.01, seed=1)

print(f"A constant answer is right on {test.majority_share:.1%} of {len(test)} test proteins.")
print(f"The smoothed classifier is right on {(result.labels == test.labels).mean():.1%}.")
for axis in noise.axes:
    share = result.certified_accuracy(test.labels, {each: int(each == axis) for each in noise.axes})
    print(f"Right, and certified against one flip in {axis}: {share:.1%}.")
print(result[9])

kinds = [f"kind {label}" for label in test.graphs[9].node_data["label"]]
draw("gallery_protein.png", problem.sites[9], result[9], "A protein of the test part", kinds=kinds)

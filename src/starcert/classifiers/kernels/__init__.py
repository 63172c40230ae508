"""Graph kernels with an explicit feature map, compiled: the same numbers as GraKeL's, on whole batches."""

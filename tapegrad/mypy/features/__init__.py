"""Parts of the language beyond one call: models, lambdas, sums, powers, the pure tape, annotations."""

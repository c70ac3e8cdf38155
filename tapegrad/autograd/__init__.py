"""Reverse-mode differentiation: tapes, gradients by tensor, and `op`, which binds an op to its shape rule."""

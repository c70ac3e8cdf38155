"""The engine of the extra `fast`: NumPy, with kernels that Numba compiles."""

"""The shape rules of ops and layers, and what they say of the types of a call."""

"""What a name is bound to at a point of the program, and which number it holds."""

"""What mypy knows of each tensor expression: for `tapegrad coverage` and the error code `tapegrad-unknown`."""

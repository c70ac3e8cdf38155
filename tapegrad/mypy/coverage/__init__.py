"""What mypy knows of each tensor expression: the survey behind `tapegrad coverage` and the code `tapegrad-unknown`."""

"""Which tapes are consumed, and on which path."""

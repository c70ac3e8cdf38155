"""Check one call: bind its arguments, check them, apply the rule, compute the result, report."""

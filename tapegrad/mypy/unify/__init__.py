"""Match declared types with the types of arguments, and bind sizes, shapes, tapes and dtypes."""

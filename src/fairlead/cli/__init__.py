"""The `fairlead` command: one module per command group, no logic of its own. Owns flags,
words and colours; everything else is asked from the packages below."""

"""Which kinds there are, built in or defined by CRDs, and what is special about each."""

"""HTTP: from a connection to a call, from a result to an answer, and what the API says about
itself. Knows nothing of how objects are kept."""

"""Objects and the verbs on them: stored, read, written, applied, deleted, watched."""

"""What can go wrong with a real part: it was never built, or it would not run."""

from fairlead.errors import FairleadError


class RealPartsMissing(FairleadError):
    """A binary is not in the cache; `make real` puts it there."""


class RealPartFailed(FairleadError):
    """A real part ended, or was not ready in time; the sentence ends with its last words."""

"""A whole fleet in one command: clusters, agents, a live view and a tour. Owns the stage and the
story; everything it shows is done by the same code that runs in production. A capability adds
itself to the tour with a module in `chapters`."""

"""The resource types Fairlead owns, as msgspec Structs, with their conditions and the CRDs made
from them. Pure data: knows nothing of how a cluster is reached or what is done with an object.
A new kind is a new module here that lists it in `KINDS`."""

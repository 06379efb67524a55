"""The types of built-in kinds: which fields they have and how protobuf encodes them, from a table
made of the Kubernetes sources. Pure; knows nothing of HTTP or storage."""

from fairlead_sim.kinds.builtin_types.fields import WrongType, drop_unknown
from fairlead_sim.kinds.builtin_types.protobuf import ProtobufError, decode_object

__all__ = ["ProtobufError", "WrongType", "decode_object", "drop_unknown"]

"""The raw protobuf messages of the Firestore v1 API; proto-plus' own wrappers cost several times as much each access."""

from typing import Any, TypeAlias

from google.cloud.firestore_v1 import types
from google.protobuf.empty_pb2 import Empty
from google.protobuf.timestamp_pb2 import Timestamp

Message: TypeAlias = Any  # a raw message; which one is said by the parameter's name

ListenResponse: Any = types.ListenResponse.pb()
TargetChange: Any = types.TargetChange.pb()
Value: Any = types.Value.pb()
Document: Any = types.Document.pb()
WriteResult: Any = types.WriteResult.pb()
StructuredQuery: Any = types.StructuredQuery.pb()
FieldTransform: Any = types.DocumentTransform.FieldTransform.pb()

__all__ = [
    "Document",
    "Empty",
    "FieldTransform",
    "ListenResponse",
    "Message",
    "StructuredQuery",
    "TargetChange",
    "Timestamp",
    "Value",
    "WriteResult",
]

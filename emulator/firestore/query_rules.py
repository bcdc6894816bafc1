"""Queries that are refused, with INVALID_ARGUMENT, whatever the data (docs: "Query limitations")."""

from collections.abc import Iterable

from google.cloud.firestore_v1.types import StructuredQuery
from grpc import StatusCode

from emulator.firestore.filters import CompositeOp, Op, UnaryOp, leaves
from emulator.firestore.limits import check_value, value_size
from emulator.firestore.messages import Message
from emulator.firestore.paths import NAME, NAME_PATH, FieldPath, check_collection_id, field_path
from emulator.firestore.refusals import Refused, invalid

MAX_DISJUNCTIONS = 30
MAX_NOT_IN = 10
MAX_INEQUALITIES = 10  # fields
MAX_PARTS = 100  # different filters and orders
MAX_COMPARED_BYTES = 1500  # of a value: an index keeps no more of one
NEGATIONS = {Op.NOT_EQUAL, Op.NOT_IN}
UNARY_NEGATIONS = {UnaryOp.IS_NOT_NAN, UnaryOp.IS_NOT_NULL}
MEMBERSHIPS = {Op.ARRAY_CONTAINS, Op.ARRAY_CONTAINS_ANY}
SETS = {Op.IN: MAX_DISJUNCTIONS, Op.ARRAY_CONTAINS_ANY: MAX_DISJUNCTIONS, Op.NOT_IN: MAX_NOT_IN}
RANGES = {Op.LESS_THAN, Op.LESS_THAN_OR_EQUAL, Op.GREATER_THAN, Op.GREATER_THAN_OR_EQUAL}
INEQUALITIES = {*RANGES, *NEGATIONS}
ASCENDING, DESCENDING = StructuredQuery.Direction.ASCENDING, StructuredQuery.Direction.DESCENDING


def check_query(query: Message, summed: Iterable[FieldPath] = ()) -> None:
    """Raise Refused, INVALID_ARGUMENT, for a query production would not take, or not with these fields summed."""
    if query.HasField("find_nearest"):
        raise Refused(StatusCode.UNIMPLEMENTED, "find_nearest is not offered by this Firestore.")
    if len(query.from_) > 1:
        raise invalid("StructuredQuery.from cannot have more than one collection selector.")
    for source in query.from_:
        check_collection_id(source.collection_id)
    if query.HasField("limit") and query.limit.value < 0:
        raise invalid("limit is negative")
    if query.offset < 0:
        raise invalid("offset is negative")
    for field in query.select.fields:
        field_path(field.field_path)
    if query.HasField("where"):
        _check_filter(query.where)
    _check_orders([field_path(item.field.field_path) for item in query.order_by])
    _check_parts(query)
    _check_after_name(query, summed)
    _check_cursors(query)


def is_inequality(condition: Message) -> bool:
    """Whether a field or unary filter orders the results by its field."""
    if condition.HasField("unary_filter"):
        return condition.unary_filter.op in UNARY_NEGATIONS
    return condition.field_filter.op in INEQUALITIES


def filtered_field(condition: Message) -> FieldPath:
    """Return the field a field or unary filter looks at."""
    return field_path(getattr(condition, condition.WhichOneof("filter_type")).field.field_path)


def _check_filter(where: Message) -> None:
    conditions = list(leaves(where))
    for condition in conditions:
        _check_condition(condition)
    _check_composites(where)
    _check_negations(where, conditions)
    _check_inequalities(conditions)
    _check_key_equality(conditions)
    ways = _ways(where)
    if ways > MAX_DISJUNCTIONS:
        raise invalid(
            f"Too many disjunctions after normalization. Result had {ways} disjunctions "
            f"which is more than the maximum of {MAX_DISJUNCTIONS}"
        )
    if _most_memberships(where) > 1:
        raise invalid("A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction.")


def _check_condition(condition: Message) -> None:
    match condition.WhichOneof("filter_type"):
        case "field_filter":
            _check_field_filter(condition.field_filter)
        case "unary_filter":
            unary = condition.unary_filter
            field_path(unary.field.field_path)
            if unary.op not in {UnaryOp.IS_NULL, UnaryOp.IS_NAN, *UNARY_NEGATIONS}:
                raise invalid("Unknown UnaryFilter operator.")
            if unary.field.field_path == NAME:
                raise invalid("__key__ filter value must be a Key")
        case _:
            raise invalid("Unknown Filter type.")


def _check_field_filter(condition: Message) -> None:
    op = condition.op
    field_path(condition.field.field_path)
    if op not in {Op.EQUAL, Op.IN, *INEQUALITIES, *MEMBERSHIPS}:
        raise invalid("Unknown FieldFilter operator.")
    values = [condition.value]
    if op in SETS:
        if not condition.value.HasField("array_value"):
            raise invalid(f"'{Op(op).name}' requires an ArrayValue.")
        values = condition.value.array_value.values
        if not values:
            raise invalid(f"'{Op(op).name}' requires an non-empty ArrayValue.")
        if len(values) > SETS[op]:
            raise invalid(f"'{Op(op).name}' supports up to {SETS[op]} comparison values.")
    for value in values:
        _check_operand(value, condition.field.field_path)
    if condition.field.field_path == NAME and op in MEMBERSHIPS:
        raise invalid("the name __key__ is reserved")


def _check_operand(value: Message, field: str) -> None:
    check_value(value, field, 1, compared=True)
    if field == NAME:
        if not value.HasField("reference_value"):
            raise invalid("__key__ filter value must be a Key")
    elif value_size(value) > MAX_COMPARED_BYTES:
        raise invalid(f"value for {field} is too large to be used in a query")


def _check_composites(where: Message) -> None:
    if where.WhichOneof("filter_type") != "composite_filter":
        return
    composite = where.composite_filter
    if composite.op not in {CompositeOp.AND, CompositeOp.OR}:
        raise invalid("Unsupported CompositeFilter operator.")
    if composite.op == CompositeOp.OR and not composite.filters:
        raise invalid("Composite filter must have at least one sub-filter.")
    for part in composite.filters:
        _check_composites(part)


def _check_negations(where: Message, conditions: Iterable[Message]) -> None:
    ops = [c.field_filter.op for c in conditions if c.HasField("field_filter")]
    unary = [c.unary_filter.op for c in conditions if c.HasField("unary_filter")]
    if sum(op in NEGATIONS for op in ops) + sum(op in UNARY_NEGATIONS for op in unary) > 1:
        raise invalid("Only a single 'NOT_EQUAL', 'NOT_IN', 'IS_NOT_NAN', or 'IS_NOT_NULL' filter allowed per query.")
    if Op.NOT_IN in ops and (Op.IN in ops or Op.ARRAY_CONTAINS_ANY in ops or _has_or(where)):
        raise invalid("'NOT_IN' cannot be used in the same query with 'IN', 'ARRAY_CONTAINS_ANY' or 'OR'.")


def _check_inequalities(conditions: Iterable[Message]) -> None:
    unequal = {filtered_field(condition) for condition in conditions if is_inequality(condition)}
    if len(unequal) > MAX_INEQUALITIES:
        raise invalid(
            f"The query contains {len(unequal)} distinct inequality fields. "
            f"A query may not have more than {MAX_INEQUALITIES} distinct inequality fields."
        )


def _check_key_equality(conditions: Iterable[Message]) -> None:
    tests = [(c.field_filter.field.field_path, c.field_filter.op) for c in conditions if c.HasField("field_filter")]
    unequal = {path for path, op in tests if op in INEQUALITIES}
    is_equal = (NAME, Op.EQUAL) in tests or (NAME, Op.IN) in tests
    if is_equal and unequal and NAME not in unequal:
        raise invalid(
            "Equality on key is not allowed if there are other inequality fields "
            "and key does not appear in inequalities."
        )


def _has_or(where: Message) -> bool:
    return where.WhichOneof("filter_type") == "composite_filter" and (
        where.composite_filter.op == CompositeOp.OR or any(_has_or(part) for part in where.composite_filter.filters)
    )


def _ways(where: Message) -> int:
    """Return into how many ANDs the filter falls apart, once it is brought to an OR of ANDs."""
    match where.WhichOneof("filter_type"):
        case "composite_filter":
            parts = [_ways(part) for part in where.composite_filter.filters]
            if where.composite_filter.op == CompositeOp.OR:
                return sum(parts)
            product = 1
            for part in parts:
                product *= part
            return product
        case "field_filter" if where.field_filter.op in {Op.IN, Op.ARRAY_CONTAINS_ANY}:
            values = where.field_filter.value.array_value.values
            return len({value.SerializeToString(deterministic=True) for value in values})  # the same one twice is one
    return 1


def _most_memberships(where: Message) -> int:
    """Return how many array memberships one document would have to satisfy at once."""
    if where.WhichOneof("filter_type") == "composite_filter":
        parts = [_most_memberships(part) for part in where.composite_filter.filters]
        return max(parts) if where.composite_filter.op == CompositeOp.OR else sum(parts)
    return int(where.field_filter.op in MEMBERSHIPS)


def _check_orders(fields: list[FieldPath]) -> None:
    for at, field in enumerate(fields):
        if NAME_PATH in fields[:at]:
            raise invalid("order by clause cannot contain more fields after the key")
        if field in fields[:at]:
            raise invalid(f"order by clause cannot contain duplicate fields {'.'.join(field)}")


def _check_parts(query: Message) -> None:
    conditions = leaves(query.where) if query.HasField("where") else ()
    filters = len({condition.SerializeToString(deterministic=True) for condition in conditions})
    if filters + len(query.order_by) > MAX_PARTS:
        raise invalid(
            f"The query may not have more than {MAX_PARTS} filters + sort orders + ancestor total. "
            f"Currently there are {filters} filters, {len(query.order_by)} sort orders."
        )


def _check_after_name(query: Message, summed: Iterable[FieldPath]) -> None:
    conditions = list(leaves(query.where)) if query.HasField("where") else []
    ordered = {field_path(item.field.field_path) for item in query.order_by}
    unequal = {filtered_field(condition) for condition in conditions if is_inequality(condition)}
    if NAME_PATH in ordered and unequal - ordered:
        raise invalid("order by clause cannot contain more fields after the key")
    named = {*ordered, *map(filtered_field, conditions)}
    if NAME_PATH in named and (after := {*summed} - ordered - unequal):
        fields = ", ".join(sorted(map(".".join, after)))
        raise invalid(
            f"This query requires an index that has fields [{fields}] after __name__ "
            "and Firestore does not currently support such an index."
        )


def _check_cursors(query: Message) -> None:
    for cursor in (query.start_at, query.end_at):
        if len(cursor.values) > len(query.order_by):
            raise invalid("Cursor has too many values.")
        for order, value in zip(query.order_by, cursor.values, strict=False):
            check_value(value, order.field.field_path, 1, compared=True)
            if order.field.field_path == NAME and not value.HasField("reference_value"):
                raise invalid("Cursor position of __name__ must be a reference.")

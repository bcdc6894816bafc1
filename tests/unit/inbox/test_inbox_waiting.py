"""Which postings of events go out together, and in which order."""

from datetime import UTC, datetime, timedelta
from random import Random

from emulator.inbox.events.happening import Happened
from emulator.inbox.events.waiting import Posting, Waiting

NOW = datetime(2026, 8, 16, 8, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def waiting(*minutes: int, copies: int = 1) -> Waiting:
    """Events that are due so many minutes after NOW; each says when."""
    all_of_them = Waiting()
    for late in minutes:
        happened = Happened("m", {"late": late}, NOW)
        for _ in range(copies):
            all_of_them.put(Posting(happened, NOW + late * MINUTE))
    return all_of_them


def taken(postings: Waiting, most: int, minutes: int, shuffled_by: Random | None = None) -> list[object]:
    batch = postings.take(most, NOW + minutes * MINUTE, shuffled_by)
    return [posting.happened.body["late"] for posting in batch]


def test_what_is_due_is_taken_earliest_first_and_nothing_else() -> None:
    postings = waiting(5, 1, 9, 3)
    assert taken(postings, 10, 5) == [1, 3, 5]
    assert taken(postings, 10, 5) == []
    assert len(postings) == 1


def test_a_batch_has_a_limit_and_what_is_left_comes_next() -> None:
    postings = waiting(1, 2, 3)
    assert [taken(postings, 2, 9), taken(postings, 2, 9), taken(postings, 2, 9)] == [[1, 2], [3], []]


def test_copies_are_never_together_and_lose_no_place() -> None:
    postings = waiting(1, 2, copies=3)
    assert [taken(postings, 9, 9) for _ in range(4)] == [[1, 2], [1, 2], [1, 2], []]


def test_the_next_is_now_later_or_never() -> None:
    postings = waiting(5, 7)
    assert postings.next_due(NOW) == NOW + 5 * MINUTE
    taken(postings, 1, 9)
    assert postings.next_due(NOW + 9 * MINUTE) == NOW + 9 * MINUTE
    postings.clear()
    assert postings.next_due(NOW) is None


def test_in_a_hurry_everything_is_due_in_the_order_in_which_it_came() -> None:
    postings = waiting(5, 1, 9)
    postings.hurry()
    assert taken(postings, 9, 0) == [5, 1, 9]


def test_shuffled_the_same_ones_are_taken_in_another_order() -> None:
    minutes = list(range(30))
    order = taken(waiting(*minutes), 30, 60, Random(1))
    assert order != minutes
    assert sorted(map(str, order)) == sorted(map(str, minutes))

"""What the meter adds up and keeps apart."""

import json
from threading import Thread

from emulator.firestore.meter import Count, Meter, Usage


def test_usage_is_kept_apart_by_project_rpc_and_collection() -> None:
    meter = Meter()
    meter.count("p", "Commit", "deliveries", writes=2)
    meter.count("p", "Commit", "deliveries", writes=1, deletes=1)
    meter.count("p", "RunQuery", "deliveries", reads=5)
    meter.count("p", "RunQuery", "users", reads=1)
    meter.count("other", "RunQuery", "users", reads=7)
    usage = meter.snapshot("p")
    assert (usage.reads, usage.writes, usage.deletes) == (6, 3, 1)
    assert usage.counts == (
        Count("Commit", "deliveries", 0, 3, 1),
        Count("RunQuery", "deliveries", 5, 0, 0),
        Count("RunQuery", "users", 1, 0, 0),
    )


def test_without_a_project_all_are_added_up() -> None:
    meter = Meter()
    meter.count("p", "RunQuery", "users", reads=1)
    meter.count("q", "RunQuery", "users", reads=2)
    assert meter.snapshot() == Usage(3, 0, 0, (Count("RunQuery", "users", 3, 0, 0),))


def test_what_failed_leaves_no_trace() -> None:
    meter = Meter()
    meter.count("p", "Commit", "deliveries")
    assert meter.snapshot("p").counts == ()


def test_a_reset_forgets_one_project_or_all() -> None:
    meter = Meter()
    meter.count("p", "Commit", "c", writes=1)
    meter.count("q", "Commit", "c", writes=2)
    meter.reset("p")
    assert (meter.snapshot("p").writes, meter.snapshot().writes) == (0, 2)
    meter.reset()
    assert meter.snapshot() == Usage(0, 0, 0, ())


def test_usage_survives_json() -> None:
    meter = Meter()
    meter.count("p", "Commit", "c", writes=1, deletes=2)
    assert Usage.from_json(json.loads(json.dumps(meter.snapshot().to_json()))) == meter.snapshot()


def test_no_count_is_lost_between_threads() -> None:
    meter = Meter()

    def work() -> None:
        for _ in range(2000):
            meter.count("p", "Commit", "c", writes=1)

    threads = [Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert meter.snapshot("p").writes == 16000

"""Measure everything in one run: `python -m bench`. Writes results.md and results.svg beside this file."""

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from bench import absorbed, cold, delivering, dispatch, growth, post_office
from bench.chart import svg
from bench.ground import Ground, ground
from bench.report import Section

HERE = Path(__file__).parent
Measure = Callable[[], Section]


def main() -> None:
    """Run the sections that are asked for, all by default, and write down what they say."""
    options = _options()
    rounds, count = options.rounds, options.deliveries
    sections: dict[str, Measure] = {
        "cold": lambda: _on_ground(lambda fresh: cold.measure(fresh, rounds)),
        "deliver": lambda: _on_ground(lambda fresh: delivering.measure(fresh, rounds, count)),
        "grow": lambda: _on_ground(lambda fresh: growth.measure(fresh, rounds, options.sizes)),
        "dispatch": lambda: dispatch.measure(count),
        "events": lambda: _on_ground(lambda fresh: absorbed.measure(fresh, options.events)),
        "post-office": lambda: _on_ground(lambda fresh: post_office.measure(fresh, rounds, count)),
    }
    found = list(_measured({name: sections[name] for name in options.sections or sections}))
    ratios = {name: value for section in found for name, value in section.ratios.items()}
    (options.out / "results.svg").write_text(svg("Ratios: ours to the other, or large to small", ratios), "utf-8")
    (options.out / "results.md").write_text(_page(found), "utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("sections", nargs="*", help="cold, deliver, grow, dispatch, events, post-office")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--deliveries", type=int, default=400)
    parser.add_argument("--events", type=int, default=10_000, help="deliveries whose events are absorbed")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--out", type=Path, default=HERE)
    return parser.parse_args()


def _on_ground(measure: Callable[[Ground], Section]) -> Section:
    with ground() as fresh:
        return measure(fresh)


def _measured(sections: dict[str, Measure]) -> Iterator[Section]:
    """Each section on servers of its own, printed as soon as it is there; what it told the environment is forgotten."""
    before = dict(os.environ)
    for name, measure in sections.items():
        begun = time.monotonic()
        section = measure()
        os.environ.clear()
        os.environ.update(before)
        print(f"{section.markdown()}\n", flush=True)
        print(f"({name}: {time.monotonic() - begun:.0f} s)\n", file=sys.stderr, flush=True)
        yield section


def _page(sections: list[Section]) -> str:
    machine = f"{os.cpu_count()} processors, Python {platform.python_version()}, {platform.system()}"
    busy = f"{os.getloadavg()[0]:.1f}"
    return "\n\n".join(
        (
            "# What `make bench` measured",
            f"On {datetime.now(UTC):%Y-%m-%d}: {machine}; its load at the end was {busy}. Everything runs on this one machine,"
            " so that a figure a second says little beyond it; the ratios are what counts. What is compared is measured in"
            " turns, every second round in the opposite order, and a ratio is the median of the rounds' own ratios.",
            "![The ratios](results.svg)",
            *(section.markdown() for section in sections),
            "",
        )
    )


if __name__ == "__main__":
    main()

"""What was measured, as Markdown: sections of tables, each with how it was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """Rows under a header; all but the first column are numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The table."""
        rules = ["---", *["---:"] * (len(self.header) - 1)]
        return "\n".join(f"| {' | '.join(row)} |" for row in (self.header, rules, *self.rows))


@dataclass(frozen=True)
class Section:
    """One subject: its method in words, its tables, and the ratios that the chart shows."""

    title: str
    method: str
    tables: Sequence[Table]
    ratios: Mapping[str, float] = field(default_factory=dict)

    def markdown(self) -> str:
        """The section."""
        return "\n\n".join((f"## {self.title}", self.method, *(table.markdown() for table in self.tables)))

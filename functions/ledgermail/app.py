"""What an instance works with, made from its settings: the one place where the parts are put together."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ledgermail import mailing, settings
from ledgermail.clock import Clock
from ledgermail.log import of_project
from ledgermail.mailing import Mailing
from ledgermail.settings import Settings

if TYPE_CHECKING:
    from google.cloud import firestore

    from ledgermail.console.auth import Doorkeeper
    from ledgermail.delivering.gate import Gates
    from ledgermail.delivering.tasks import Tasks
    from ledgermail.delivering.worker import Worker
    from ledgermail.events.intake import Intake
    from ledgermail.events.suppressions import Suppressions
    from ledgermail.ledger.ledger import Ledger
    from ledgermail.planning.coordinator import Coordinator
    from ledgermail.planning.reports import Reports
    from ledgermail.planning.scan import Scanner
    from ledgermail.preferences.links import Links
    from ledgermail.preferences.preference_store import Preferences
    from ledgermail.status.status import Statuses
    from ledgermail.support.operations import Operations
    from ledgermail.support.why import Enquiries
    from ledgermail.upkeep.prune import Pruner
    from ledgermail.upkeep.sweep import Sweeper
    from ledgermail.webhooks.webhook import Webhooks


@dataclass(frozen=True)
class App:
    """The parts by name. Each is made, and its libraries are imported, when it is first asked for."""

    settings: Settings
    mailings: Mapping[str, Mailing]
    clock: Clock = field(default_factory=Clock)

    @cached_property
    def client(self) -> "firestore.Client":
        """One connection to Firestore for all parts."""
        from ledgermail.store import connect

        return connect(self.settings)

    @cached_property
    def ledger(self) -> "Ledger":
        """The deliveries."""
        from ledgermail.ledger.ledger import Ledger

        return Ledger(self.client)

    @cached_property
    def gates(self) -> "Gates":
        """The pause and the breaker."""
        from ledgermail.delivering.gate import Gates

        return Gates(self.client, self.clock)

    @cached_property
    def tasks(self) -> "Tasks":
        """The queues."""
        from ledgermail.delivering.tasks import Tasks

        return Tasks(self.settings)

    @cached_property
    def worker(self) -> "Worker":
        """What `deliver` runs."""
        from ledgermail.delivering.items import Items
        from ledgermail.delivering.worker import Worker
        from ledgermail.providers.provider import provider_of

        return Worker(
            ledger=self.ledger,
            gates=self.gates,
            tasks=self.tasks,
            provider=provider_of(self.settings, self.clock),
            webhooks=lambda: self.webhooks,
            items=Items(self.client, self.reports),
            links=self.links,
            mailings=self.mailings,
            clock=self.clock,
            lease=self.settings.lease,
            provider_timeout=self.settings.provider_timeout,
        )

    @cached_property
    def webhooks(self) -> "Webhooks":
        """What tells customers that a mail was accepted."""
        from ledgermail.webhooks.egress import ALLOWED, Egress
        from ledgermail.webhooks.webhook import Webhooks

        way_out = Egress(self.settings.provider_timeout, self.clock, allowed=ALLOWED[self.settings.webhooks])
        return Webhooks(way_out, self.clock)

    @cached_property
    def links(self) -> "Links":
        """What makes and reads the link in every mail."""
        from ledgermail.preferences.links import Links

        keys = self.settings.secrets["TOKEN_KEY"].split(",")
        return Links(function_url=self.settings.function_url, keys=keys)

    @cached_property
    def preferences(self) -> "Preferences":
        """What users have chosen."""
        from ledgermail.preferences.preference_store import Preferences

        return Preferences(self.client)

    @cached_property
    def reports(self) -> "Reports":
        """The adopter's reports."""
        from ledgermail.planning.reports import Reports

        return Reports(self.client)

    @cached_property
    def coordinator(self) -> "Coordinator":
        """What `plan` runs."""
        from ledgermail.planning.audience import Audience
        from ledgermail.planning.coordinator import Coordinator
        from ledgermail.planning.run_store import RunStore

        return Coordinator(
            client=self.client,
            audience=Audience(self.client),
            runs=RunStore(self.client),
            reports=self.reports,
            tasks=self.tasks,
            mailings=self.mailings,
            clock=self.clock,
            shards=self.settings.shards,
            time_box=self.settings.time_box,
        )

    @cached_property
    def scanner(self) -> "Scanner":
        """What `scan` runs."""
        from ledgermail.planning.book import Books
        from ledgermail.planning.matches import Matches
        from ledgermail.planning.scan import Scanner

        return Scanner(
            books=Books(self.client),
            matches=Matches(self.client),
            ledger=self.ledger,
            tasks=self.tasks,
            clock=self.clock,
            shards=self.settings.shards,
            time_box=self.settings.time_box,
        )

    @cached_property
    def sweeper(self) -> "Sweeper":
        """What `sweep` runs."""
        from ledgermail.upkeep.sweep import Sweeper
        from ledgermail.upkeep.upkeep import Upkeep

        return Sweeper(
            upkeep=Upkeep(self.client),
            ledger=self.ledger,
            gates=self.gates,
            tasks=self.tasks,
            mailings=self.mailings,
            clock=self.clock,
            shards=self.settings.shards,
            time_box=self.settings.time_box,
        )

    @cached_property
    def pruner(self) -> "Pruner":
        """What `prune` runs."""
        from ledgermail.planning.runs import Runs
        from ledgermail.upkeep.prune import Pruner
        from ledgermail.upkeep.upkeep import Upkeep

        return Pruner(
            upkeep=Upkeep(self.client),
            runs=Runs(self.client),
            clock=self.clock,
            shards=self.settings.shards,
            time_box=self.settings.time_box,
        )

    @cached_property
    def intake(self) -> "Intake":
        """What `events` feeds."""
        from ledgermail.events.intake import Intake

        return Intake(
            ledger=self.ledger,
            suppressions=self.suppressions,
            mailings=self.mailings,
            clock=self.clock,
            archive=self.settings.archive,
        )

    @cached_property
    def suppressions(self) -> "Suppressions":
        """Who must not be mailed any more."""
        from ledgermail.events.suppressions import Suppressions

        return Suppressions(self.client)

    @cached_property
    def operations(self) -> "Operations":
        """What operators do."""
        from ledgermail.support.audits import Audits
        from ledgermail.support.operations import Operations

        return Operations(
            ledger=self.ledger,
            gates=self.gates,
            tasks=self.tasks,
            suppressions=self.suppressions,
            audits=Audits(self.client),
            mailings=self.mailings,
            clock=self.clock,
        )

    @cached_property
    def enquiries(self) -> "Enquiries":
        """What answers why somebody got a mail, or did not."""
        from ledgermail.planning.book import Books
        from ledgermail.support.audits import Audits
        from ledgermail.support.why import Enquiries

        return Enquiries(
            client=self.client,
            ledger=self.ledger,
            audits=Audits(self.client),
            gates=self.gates,
            suppressions=self.suppressions,
            reports=self.reports,
            books=Books(self.client),
            mailings=self.mailings,
            clock=self.clock,
        )

    @cached_property
    def doorkeeper(self) -> "Doorkeeper":
        """What lets operators in at the console, and knows its forms again."""
        from ledgermail.console.auth import Doorkeeper

        return Doorkeeper(self.settings)

    @cached_property
    def statuses(self) -> "Statuses":
        """What `status` reads."""
        from ledgermail.planning.book import Books
        from ledgermail.planning.matches import Matches
        from ledgermail.planning.runs import Runs
        from ledgermail.status.ages import Ages
        from ledgermail.status.expected import Expected
        from ledgermail.status.samples import Samples
        from ledgermail.status.status import Statuses

        client, shards = self.client, self.settings.shards
        return Statuses(
            runs=Runs(client),
            ages=Ages(client=client, books=Books(client), matches=Matches(client), shards=shards),
            expected=Expected(client=client, reports=self.reports),
            samples=Samples(client=client, mailings=self.mailings, shards=shards),
            gates=self.gates,
            mailings=self.mailings,
            clock=self.clock,
        )


@cache
def app() -> App:
    """The one of this process, from its environment. Raises ConfigurationError naming all that is wrong."""
    made = from_environment(os.environ)
    of_project(made.settings.project)
    return made


def from_environment(environment: Mapping[str, str]) -> App:
    """The one of these settings. Raises ConfigurationError naming all that is wrong."""
    read = settings.read(environment)
    return App(read, mailing.in_force(mailing.load(read.mailings), read))

"""Settings: one frozen object read from the environment, with every problem reported at once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from ledgermail.declared import Declared, refuse
from ledgermail.delivering.addresses import usable_address

PREFIX = "LEDGERMAIL_"
FOLDER = Path(__file__).resolve().parent.parent / "mailings"
MARGIN = timedelta(seconds=10)  # what claiming and settling may take around the provider's call
KEY_CHARS = 32  # the least of each key that signs: whoever guesses one can unsubscribe everybody
DISPATCH_DEADLINES = (timedelta(seconds=15), timedelta(minutes=30))  # what Cloud Tasks takes for one
HOST = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*")
# As DER in base64 begins; to parse it would slow down every start.
PUBLIC_KEY = re.compile(r"M[A-Za-z0-9+/]{79,}={0,2}")
URLS = ("SENDGRID_URL", "RESEND_URL", "CERTS_URL", "IAP_CERTS_URL")
ADDRESSES = ("SENDER", "REPLY_TO", "ARCHIVE")
# Which function reads which; of the providers' only that of the one in use: see secrets_of.
SECRETS: Mapping[str, tuple[str, ...]] = {
    "deliver": ("SENDGRID_KEY", "RESEND_KEY", "SMTP_PASSWORD", "TOKEN_KEY"),
    "preferences": ("TOKEN_KEY",),
    "trigger": ("TRIGGER_KEY",),
    "console": ("CONSOLE_KEY",),
}
SIGNING = ("TOKEN_KEY", "CONSOLE_KEY")
SECRET_NAMES = tuple(sorted({name for names in SECRETS.values() for name in names}))


class Provider(StrEnum):
    """Who takes our mail."""

    SENDGRID = "sendgrid"
    RESEND = "resend"
    SMTP = "smtp"

    @property
    def repeatable(self) -> timedelta:
        """How long a request that is made again is recognised by its key and sends nothing; zero where none is taken.

        Resend keeps an Idempotency-Key for 24 hours; an hour of that is left for clocks and for a try under way.
        """
        return timedelta(hours=23) if self is Provider.RESEND else timedelta()


PROVIDER_SECRETS = {
    Provider.SENDGRID: "SENDGRID_KEY",
    Provider.RESEND: "RESEND_KEY",
    Provider.SMTP: "SMTP_PASSWORD",
}


class SmtpTls(StrEnum):
    """How the connection to an SMTP server is encrypted."""

    STARTTLS = "starttls"  # after the greeting; port 587
    IMPLICIT = "implicit"  # from the start; port 465
    NONE = "none"  # for the local cloud, and refused where mail is really sent


class ConsoleAuth(StrEnum):
    """Who says who is at the console."""

    IAM = "iam"  # Cloud Run has checked the caller
    IAP = "iap"  # the Identity-Aware Proxy, by an assertion that we verify
    FIREBASE = "firebase"  # a Firebase user whose token has the claim `operator`
    LOCAL = "local"  # whoever is on this machine: for the local cloud, and refused where mail is really sent


class WebhookTargets(StrEnum):
    """Where customers' webhooks may be."""

    PUBLIC = "public"  # https, at addresses of the internet
    LOOPBACK = "loopback"  # this machine: for the local cloud, and refused where mail is really sent


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What one deployment decides. Secrets are absent where the function does not need them, and never in its repr."""

    project: str
    database: str
    location: str
    queue: str  # of deliveries
    upkeep_queue: str  # of scans, sweeps and prunes that go on
    function_url: str  # where a function answers: has the placeholder {function}
    task_account: str  # the service account in whose name tasks call
    audience: str  # of the OIDC token to check ourselves; empty where IAM has checked it
    certs_url: str  # of certificates by key id; a JSON Web Key Set would need one more library
    sender: str
    sender_name: str
    reply_to: str
    archive: str  # gets a blind copy of every mail; empty for none
    provider: Provider
    sendgrid_url: str
    resend_url: str
    smtp_host: str
    smtp_port: int
    smtp_user: str  # empty: the server takes our mail without a login
    smtp_tls: SmtpTls
    mailings: Path  # the folder with a folder for each mailing
    shards: int
    lease: timedelta
    provider_timeout: timedelta
    function_timeout: timedelta
    time_box: timedelta  # a scan, sweep or prune stops itself after this long and goes on as a task
    events_keys: tuple[str, ...]  # public keys that sign provider events, any of them; none: there are no events
    webhooks: WebhookTargets
    console_auth: ConsoleAuth
    console_sign_in: str  # the adopter's page that posts a Firebase ID token to the console
    iap_audience: str  # of the assertions that IAP signs for the console
    iap_certs_url: str
    secrets: "Secrets"


class Secrets:
    """Keys by name. Prints as nothing."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]


def read(environment: Mapping[str, str]) -> Settings:
    """Read and check. Raises ConfigurationError naming every variable that is missing or unusable."""
    ours = {name.removeprefix(PREFIX): value for name, value in environment.items() if name.startswith(PREFIX)}
    declared = Declared(ours, PREFIX)
    settings = _read(declared, environment)
    declared.unknown()
    _check(declared, settings, environment)
    refuse(declared.problems)
    return settings


def _read(declared: Declared, environment: Mapping[str, str]) -> Settings:
    provider = declared.choice("PROVIDER", Provider, Provider.SENDGRID)
    return Settings(
        project=declared.text("PROJECT", environment.get("GOOGLE_CLOUD_PROJECT")),
        database=declared.text("DATABASE", "(default)"),
        location=declared.text("LOCATION"),
        queue=declared.text("QUEUE", "deliver"),
        upkeep_queue=declared.text("UPKEEP_QUEUE", "upkeep"),
        function_url=declared.text("FUNCTION_URL"),
        task_account=declared.text("TASK_ACCOUNT"),
        audience=declared.text("AUDIENCE", ""),
        certs_url=declared.text("CERTS_URL", "https://www.googleapis.com/oauth2/v1/certs"),
        sender=declared.text("SENDER"),
        sender_name=declared.text("SENDER_NAME", ""),
        reply_to=declared.text("REPLY_TO", ""),
        archive=declared.text("ARCHIVE", ""),
        provider=provider,
        sendgrid_url=declared.text("SENDGRID_URL", "https://api.sendgrid.com"),
        resend_url=declared.text("RESEND_URL", "https://api.resend.com"),
        smtp_host=declared.text("SMTP_HOST", ""),
        smtp_port=declared.integer("SMTP_PORT", 587, least=1, most=65535),
        smtp_user=declared.text("SMTP_USER", ""),
        smtp_tls=declared.choice("SMTP_TLS", SmtpTls, SmtpTls.STARTTLS),
        mailings=Path(declared.text("MAILINGS", str(FOLDER))),
        shards=declared.integer("SHARDS", 4, least=1, most=64),
        lease=declared.duration("LEASE", timedelta(minutes=2)),
        provider_timeout=declared.duration("PROVIDER_TIMEOUT", timedelta(seconds=20)),
        function_timeout=declared.duration("FUNCTION_TIMEOUT", timedelta(seconds=60)),
        time_box=declared.duration("TIME_BOX", timedelta(seconds=40)),
        events_keys=_words(declared.text("EVENTS_KEY", "")),
        webhooks=declared.choice("WEBHOOKS", WebhookTargets, WebhookTargets.PUBLIC),
        console_auth=declared.choice("CONSOLE_AUTH", ConsoleAuth, ConsoleAuth.IAM),
        console_sign_in=declared.text("CONSOLE_SIGN_IN", ""),
        iap_audience=declared.text("IAP_AUDIENCE", ""),
        iap_certs_url=declared.text("IAP_CERTS_URL", "https://www.gstatic.com/iap/verify/public_key"),
        secrets=_secrets(declared, environment, provider),
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def secrets_of(function: str, provider: Provider) -> tuple[str, ...]:
    """The secrets that a function reads where this is the provider."""
    others = {name for other, name in PROVIDER_SECRETS.items() if other is not provider}
    return tuple(name for name in SECRETS.get(function, ()) if name not in others)


def _secrets(declared: Declared, environment: Mapping[str, str], provider: Provider) -> Secrets:
    """Every secret that is set; one is missed only where the function that reads it runs (FUNCTION_TARGET)."""
    needed = secrets_of(environment.get("FUNCTION_TARGET", ""), provider)
    values = {name: declared.text(name, None if name in needed else "") for name in SECRET_NAMES}
    for name, value in values.items():
        may_be_words = name == PROVIDER_SECRETS[Provider.SMTP]
        if not (value.isascii() and value.isprintable()) or (" " in value and not may_be_words):
            declared.problem(name, "must be one word of ASCII, as it travels in a header")
    for name in SIGNING:
        if any(len(key) < KEY_CHARS for key in values[name].split(",") if values[name]):
            declared.problem(name, f"each key must have at least {KEY_CHARS} characters; several are parted by commas")
    return Secrets(values)


def _check(declared: Declared, settings: Settings, environment: Mapping[str, str]) -> None:
    """Note what would break the promise although each value by itself is sound."""
    if "{function}" not in settings.function_url:
        declared.problem("FUNCTION_URL", "must have the placeholder {function}")
    if not all(PUBLIC_KEY.fullmatch(key) for key in settings.events_keys):
        declared.problem(
            "EVENTS_KEY", "each must be a public key in base64, as SendGrid shows it; several are parted by commas"
        )
    _check_addresses(declared, settings)
    _check_times(declared, settings)
    if settings.provider is Provider.SMTP:
        _check_smtp(declared, settings)
    _check_console(declared, settings)
    if "K_SERVICE" in environment:
        for name in sorted(n for n in environment if n.endswith("_EMULATOR_HOST")):
            declared.problems.append(f"{name}: an emulator must not be named where mail is really sent")
        _check_deployed(declared, settings)


def _check_deployed(declared: Declared, settings: Settings) -> None:
    """Note what is for the local cloud alone."""
    if settings.webhooks is not WebhookTargets.PUBLIC:
        declared.problem("WEBHOOKS", "must be public where mail is really sent")
    if settings.provider is Provider.SMTP and settings.smtp_tls is SmtpTls.NONE:
        declared.problem("SMTP_TLS", "must be starttls or implicit where mail is really sent")
    if settings.console_auth is ConsoleAuth.LOCAL:
        declared.problem("CONSOLE_AUTH", "must be iam, iap or firebase where mail is really sent")
    if not settings.function_url.startswith("https://"):
        declared.problem("FUNCTION_URL", "must be https: every mail has a link there, which unsubscribes")


def _check_addresses(declared: Declared, settings: Settings) -> None:
    for name in ADDRESSES:
        address: str = getattr(settings, name.lower())
        if address and not (address.isascii() and usable_address(address)):
            declared.problem(name, "must be an address in ASCII: with any other, every mail would be refused for good")
    for name in URLS:
        if not _is_of_a_server(getattr(settings, name.lower())):
            declared.problem(
                name, "must be http(s)://, the ASCII name or address of a server, and at most a port and a path"
            )


def _is_of_a_server(url: str) -> bool:
    """Whether a request can be made of it: what cannot is found out here, and not with a claim on record."""
    try:
        parts = urlsplit(url)
        server = parts.scheme in {"http", "https"} and HOST.fullmatch(parts.hostname or "") and parts.port != 0
    except ValueError:
        return False
    return bool(server) and url.isascii() and url.isprintable() and not set("@?# ") & set(url)


def _check_smtp(declared: Declared, settings: Settings) -> None:
    if not HOST.fullmatch(settings.smtp_host):
        declared.problem("SMTP_HOST", "must be the name or address of the server that takes our mail")
    if not (settings.smtp_user.isascii() and settings.smtp_user.isprintable()):
        declared.problem("SMTP_USER", "must be printable ASCII")
    if settings.smtp_tls is not SmtpTls.NONE and not settings.smtp_user:
        declared.problem("SMTP_USER", "is missing: no server on the internet takes mail from anybody")


def _check_times(declared: Declared, settings: Settings) -> None:
    shortest, longest = DISPATCH_DEADLINES
    if not shortest <= settings.function_timeout <= longest:
        declared.problem("FUNCTION_TIMEOUT", "must be from 15s to 30m, as it is the dispatch deadline of every task")
    if settings.function_timeout <= settings.provider_timeout + MARGIN:
        declared.problem(
            "FUNCTION_TIMEOUT", "must be longer than PROVIDER_TIMEOUT + 10s: the answer must be put on record"
        )
    if settings.lease <= settings.function_timeout:
        declared.problem(
            "LEASE", "must be longer than FUNCTION_TIMEOUT: a second worker would send while the first may"
        )
    if settings.time_box >= settings.function_timeout:
        declared.problem("TIME_BOX", "must be shorter than FUNCTION_TIMEOUT")


def _check_console(declared: Declared, settings: Settings) -> None:
    if settings.console_auth is ConsoleAuth.IAP and not settings.iap_audience:
        declared.problem("IAP_AUDIENCE", "is missing: without it, an assertion for any other service would do")
    if settings.console_auth is ConsoleAuth.FIREBASE and not urlsplit(settings.console_sign_in).netloc:
        declared.problem("CONSOLE_SIGN_IN", "must be the address of the page that signs operators in")

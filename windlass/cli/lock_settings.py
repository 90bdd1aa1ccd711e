"""The settings of locks, which `windlass up` and `windlass node` share."""

from __future__ import annotations

from typing import Final

from windlass.cli import readers
from windlass.cli.setting import Setting

LOCK_SETTINGS: Final = (
    Setting("login", readers.flag, "Everybody has to show a token; `windlass token create` makes them."),
    Setting("insecure", readers.flag, "Listen beyond this machine, though there is no login."),
    Setting(
        "jwt-key-file",
        readers.file,
        "Take JWT as tokens, too, signed with this key: a secret (HS256), a public key or a JWKS (RS256).",
        "FILE",
    ),
    Setting("jwt-issuer", readers.text, "Who has to have issued them.", "NAME"),
    Setting("jwt-audience", readers.text, "For whom they have to be.", "NAME"),
    Setting("jwt-role-claim", readers.text, "Which claim says the role.", "CLAIM"),
    Setting("jwt-namespace-claim", readers.text, "Which claim says the namespace.", "CLAIM"),
    Setting(
        "jwt-role",
        readers.words,
        "What that claim says, and which role it is, e.g. ops-team=admin; may be repeated.",
        "VALUE=ROLE",
        repeated=True,
    ),
    Setting(
        "token-rate", readers.text, "How often each token may ask, with a login, e.g. 50/s; off.", "RATE"
    ),
    Setting("address-rate", readers.text, "The same for each address.", "RATE"),
    Setting("open-runs", readers.whole, "How many runs of a namespace may be open; 0: any number.", "N"),
    Setting("token-open-runs", readers.whole, "The same for the runs that one token has started.", "N"),
    Setting("task-queue", readers.whole, "How many code tasks may wait for a worker, on each node.", "N"),
    Setting(
        "namespace-tasks",
        readers.whole,
        "How many steps of a namespace run at the same time; 0: any number.",
        "N",
    ),
    Setting("token-tasks", readers.whole, "The same for the runs that one token has started.", "N"),
    Setting("audit-retention", readers.span, "How long it is kept who did what.", "DURATION"),
    Setting(
        "cors-origin",
        readers.words,
        "Whose pages may ask, e.g. https://app.example; may be repeated.  [default: nobody else's]",
        "ORIGIN",
        repeated=True,
    ),
    Setting(
        "secrets-key-file",
        readers.file,
        "The keys of secrets, one to a line; the first seals.  [default: WINDLASS_SECRETS_KEY]",
        "FILE",
    ),
    Setting("tls-cert", readers.file, "Speak TLS with this certificate, in PEM with its chain.", "FILE"),
    Setting("tls-key", readers.file, "Its key, in PEM.", "FILE"),
    Setting(
        "tls-ca",
        readers.file,
        "Whose certificates other nodes have.  [default: whom this machine trusts]",
        "FILE",
    ),
    Setting("tls-client-ca", readers.file, "Nodes have to show a certificate of this authority.", "FILE"),
    Setting(
        "connections-per-address",
        readers.whole,
        "How many clients of one address may be connected; 0: any number on loopback, else 200.",
        "N",
    ),
    Setting(
        "http-private",
        readers.text,
        "Whether http steps may call this machine and private networks: allow or deny.",
        "WORD",
    ),
    Setting(
        "allow-network",
        readers.words,
        "A private network that webhooks, and http steps, may call, e.g. 10.1.0.0/16; may be repeated.",
        "CIDR",
        repeated=True,
    ),
)

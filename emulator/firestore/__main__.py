"""Run the embedded Firestore: ``python -m emulator.firestore --port 0 [--indexes FILE]``."""

import sys
from importlib.util import find_spec, module_from_spec


def _load_messages_only() -> None:
    """Keep the message types from bringing the client library with them, which takes 0.4 s and is not needed here.

    They live in its package; an empty one in its place finds them as well.
    """
    spec = find_spec("google.cloud.firestore_v1")
    assert spec is not None
    sys.modules[spec.name] = module_from_spec(spec)


if __name__ == "__main__":
    _load_messages_only()
    from emulator.firestore.running import main

    main()

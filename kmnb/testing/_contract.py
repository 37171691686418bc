"""The whole store contract, for kmnb's backends and for those of others.

::

    from kmnb.testing import StoreContract

    class TestMyStore(StoreContract):
        scheme = "mine"            # or override the fixture ``place``
"""

from __future__ import annotations

from kmnb.testing._contract_callers import CallerContract
from kmnb.testing._contract_closing import ClosingContract
from kmnb.testing._contract_forks import ForkContract
from kmnb.testing._contract_keys import KeyContract
from kmnb.testing._contract_machine import MachineContract
from kmnb.testing._contract_processes import ProcessContract
from kmnb.testing._contract_races import RaceContract
from kmnb.testing._contract_records import RecordContract
from kmnb.testing._contract_verbs import VerbContract


class StoreContract(
    VerbContract,
    KeyContract,
    RecordContract,
    CallerContract,
    ClosingContract,
    ForkContract,
    RaceContract,
    ProcessContract,
    MachineContract,
):
    """Everything that a backend guarantees; run by pytest in a subclass whose name begins with ``Test``."""

"""Users of one's own for runs, where the spawner is root."""

from __future__ import annotations

import os
import socket

from kmnb.sandbox.inner.records import field, record

BLOCK, BLOCKS = 64, 64
"""Users that one spawner holds, more than it ever has runs; and spawners of one machine."""
LOWEST = 53_000
"""First number: above those that systems give to people and services, below those of dynamic users."""


def may_own_leftovers(user: int) -> bool:
    """Tell whether what belongs to a user in a temporary folder is ours: our own user's, or of a run that root made."""
    mine = os.getuid()
    return user == mine or (mine == 0 and LOWEST <= user < LOWEST + BLOCKS * BLOCK)


@record(slots=True)
class Users:
    """Users of one's own for runs, where the spawner is root."""

    first: int | None
    """The first of the block that this spawner holds; None where it is not root."""
    taken: set[int] = field(default_factory=set)
    """Those in use."""
    hold: socket.socket | None = None
    """Keeps the block from other spawners of this machine."""

    @classmethod
    def claim(cls) -> Users:
        """Claim a block of user numbers that no other spawner of this machine has."""
        if os.getuid() != 0:
            return cls(None)
        for block in range(BLOCKS):
            hold = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            try:
                # An abstract name is let go by the kernel with its last descriptor, however we end.
                hold.bind(f"\0kmnb-sandbox-users-{block}")
            except OSError:
                hold.close()
                continue
            return cls(LOWEST + block * BLOCK, set(), hold)
        return cls(None)

    def take(self) -> int | None:
        """Give a user that no run has now."""
        if self.first is None:
            return None
        free = next(one for one in range(self.first, self.first + BLOCK) if one not in self.taken)
        self.taken.add(free)
        return free

    def give_back(self, user: int | None) -> None:
        """Take a user back."""
        self.taken.discard(user or 0)

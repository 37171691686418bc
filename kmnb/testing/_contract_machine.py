"""A random state machine that compares a store with a dictionary."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from kmnb.errors import AlreadyExists, ArtifactNotFound
from kmnb.storage import Store, open_store
from kmnb.testing._contract_base import MIB, ContractBase, content
from kmnb.testing._scratch import Scratch

KEYS = st.sampled_from(["a", "a/b", "a/b/c", "a/bc", "a-b", "A", "é", "e\u0301", "a b", "t/1/x", "t/10/x", "k" * 1024])
SIZES = st.sampled_from([0, 1, 100, 65_536, 70_001, MIB, MIB + 1, 8 * MIB + 1])
PREFIXES = st.sampled_from(["", "a", "a/b", "t", "t/1", "A", "none"])


class StoreMachine(RuleBasedStateMachine):
    """Random puts, reads and deletions; ``store`` is set by the suite."""

    store: Store

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[str, tuple[bytes, dict[str, str]]] = {}
        self.number = 0

    @rule(key=KEYS, size=SIZES, create_only=st.booleans(), rows=st.none() | st.integers(0, 9))
    def put(self, key: str, size: int, *, create_only: bool, rows: int | None) -> None:
        """Store an object, whether it is there or not."""
        self.number += 1
        data, attributes = content(size, self.number), {} if rows is None else {"rows": str(rows)}
        if create_only and key in self.model:
            with pytest.raises(AlreadyExists):
                self.store.put(key, data, create_only=True, attributes=attributes)
            return
        self.store.put(key, data, create_only=create_only, attributes=attributes)
        self.model[key] = (data, attributes)

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        """Remove an object, whether it is there or not."""
        self.store.delete(key)
        self.model.pop(key, None)

    @rule(key=KEYS)
    def read(self, key: str) -> None:
        """Read an object whole, with its facts."""
        if key not in self.model:
            with pytest.raises(ArtifactNotFound):
                list(self.store.stream(key))
            with pytest.raises(ArtifactNotFound):
                self.store.head(key)
            return
        data, attributes = self.model[key]
        assert b"".join(self.store.stream(key)) == data
        head = self.store.head(key)
        assert (head.size, dict(head.attributes)) == (len(data), attributes)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def read_range(self, data: Any) -> None:
        """Read a part of an object."""
        key = data.draw(st.sampled_from(sorted(self.model)))
        whole = self.model[key][0]
        start = data.draw(st.integers(0, len(whole) + 10))
        end = data.draw(st.integers(start, start + 200_000))
        assert self.store.get_range(key, start, end) == whole[start:end]

    @rule(prefix=PREFIXES)
    def listing(self, prefix: str) -> None:
        """List a part of the store."""
        below = [key for key in self.model if not prefix or key == prefix or key.startswith(prefix + "/")]
        expected = [(key, len(self.model[key][0])) for key in sorted(below, key=str.encode)]
        assert [(info.key, info.size) for info in self.store.list(prefix)] == expected

    @invariant()
    def is_open(self) -> None:
        """The store is usable after every step."""
        assert self.store.url


class MachineContract(ContractBase):
    """The state machine as one test."""

    machine_examples = 12
    """Runs; each begins with an empty store."""
    machine_steps = 25
    """Steps of a run."""

    def test_a_random_walk_agrees_with_a_dictionary(self, place: Scratch) -> None:
        """Random verbs in random order give what a dictionary would give."""
        opened: list[Store] = []

        class Machine(StoreMachine):
            def __init__(self) -> None:
                super().__init__()
                self.store = open_store(place.fresh())
                opened.append(self.store)

            def teardown(self) -> None:
                """Close the store of this run."""
                self.store.close()

        quiet = settings(
            max_examples=self.machine_examples,
            stateful_step_count=self.machine_steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        run_state_machine_as_test(Machine, settings=quiet)
        assert len(opened) >= self.machine_examples

"""Waiting for descriptors, in a way that another thread can interrupt."""

from __future__ import annotations

import contextlib
import select
import socket
from typing import Generic, Protocol, TypeVar


class Pollable(Protocol):
    """Something with a descriptor."""

    def fileno(self) -> int:
        """Its descriptor; must not change while it is registered."""
        ...


Item = TypeVar("Item", bound=Pollable)


class Poller(Generic[Item]):
    """`select.poll` over items, not numbers. `wake` may be called from any thread and signal handler."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._items: dict[int, Item] = {}
        self._interest: dict[int, int] = {}
        self._waker, self._wakee = socket.socketpair()
        self._waker.setblocking(False)
        self._wakee.setblocking(False)
        self._poll.register(self._wakee, select.POLLIN)

    @property
    def items(self) -> tuple[Item, ...]:
        """What is watched now."""
        return tuple(self._items.values())

    def watch(self, item: Item, interest: int) -> None:
        """Begin to watch `item`, or change the events it is watched for."""
        fd = item.fileno()
        if self._interest.get(fd) != interest:
            self._poll.register(fd, interest)
            self._items[fd] = item
            self._interest[fd] = interest

    def forget(self, item: Item) -> None:
        """Stop watching `item`; call it before its descriptor is closed."""
        fd = item.fileno()
        if self._items.pop(fd, None) is not None:
            del self._interest[fd]
            self._poll.unregister(fd)

    def wait(self, timeout_s: float) -> list[tuple[Item, int]]:
        """Items with their events, as soon as there are any, or after `timeout_s` or `wake` none."""
        ready = []
        for fd, events in self._poll.poll(timeout_s * 1000):
            item = self._items.get(fd)
            if item is not None:
                ready.append((item, events))
            else:
                self._drain()
        return ready

    def wake(self) -> None:
        """End the current or the next `wait`."""
        with contextlib.suppress(BlockingIOError, OSError):
            self._waker.send(b"\0")

    def close(self) -> None:
        """Release the poller's own descriptors; items are their owner's."""
        self._waker.close()
        self._wakee.close()

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wakee.recv(4096):
                pass

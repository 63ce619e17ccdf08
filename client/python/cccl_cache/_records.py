# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The plain values in answers of the daemon."""

from __future__ import annotations

from typing import Any, NamedTuple, Tuple


class Timing(NamedTuple):
    """The time of a build and its parts, in microseconds."""

    total_us: int  #: the whole call
    queue_us: int  #: waiting for a slot and for memory
    compile_us: int  #: 0 if nothing was compiled


class ToolchainName(NamedTuple):
    """The toolchain that compiled a build."""

    id: str
    version: str


class Component(NamedTuple):
    """A library of a toolchain."""

    name: str  #: "nvrtc", "nvjitlink", "nvvm"
    version: str
    id: str
    path: str


class Toolchain(NamedTuple):
    """A CUDA installation that the daemon uses."""

    id: str
    version: str
    root: str
    selected_by_default: bool
    components: tuple[Component, ...]
    header_directories: tuple[str, ...]
    accepted_options: tuple[str, ...]
    architectures: tuple[str, ...] = ()  #: as NVRTC lists them ("sm_90"); empty if it can't


class RejectedToolchain(NamedTuple):
    """A CUDA installation that the daemon found and does not use."""

    root: str
    reason: str


class Toolchains(NamedTuple):
    """All CUDA installations that the daemon found."""

    used: tuple[Toolchain, ...]
    rejected: tuple[RejectedToolchain, ...]


class Health(NamedTuple):
    """The daemon that answers."""

    serving: bool
    socket: str
    version: str
    api_minor: int
    fingerprint_layout: int
    uid: int  #: of the daemon's user
    limits: dict[str, int]
    problem: str = ""  #: why the daemon is not ready; empty if it is ready


class Deposit(NamedTuple):
    """A deposit of this user's programs."""

    key: str
    namespace: str
    gid: int | None  #: of the group that shares the deposit; None if it is private
    size: int
    made_at: int  #: seconds since 1970
    used_at: int  #: approximate


class Statistic(NamedTuple):
    """One counter or gauge of the daemon."""

    name: str
    label: str  #: the tier in ``hits_total``; empty for other names
    value: float
    gauge: bool  #: a current value, not a total
    help: str


class Statistics(Tuple[Statistic, ...]):
    """All counters and gauges, in the daemon's order.

    ``statistics[name]`` is a value, or a dict of values by label if the name has labels. ``dict(statistics)`` has all
    names.
    """

    def __getitem__(self, which: Any) -> Any:
        if not isinstance(which, str):
            return super().__getitem__(which)
        values = {each.label: each.value for each in self if each.name == which}
        if not values:
            raise KeyError(which)
        return values.get("", values)

    def keys(self) -> tuple[str, ...]:
        """Returns the names, each once."""
        return tuple(dict.fromkeys(each.name for each in self))

    def __str__(self) -> str:
        """Returns a line for each value."""
        return "\n".join(f"{f'{each.name} ({each.label})' if each.label else each.name:36} {each.value:.15g}" for each in self)


class Difference(NamedTuple):
    """A difference between a build and an earlier build."""

    field: str
    name: str
    was: str  #: an option's text, a SHA-256, "absent", "a directory", or empty
    now: str
    was_lines: int
    now_lines: int


class TierLook(NamedTuple):
    """What one tier answered about an artifact."""

    tier: str
    finding: str  #: "has-it", "no-entry", "refused", "no-answer", ...
    reason: str


class Explanation(NamedTuple):
    """The reason why a build was compiled, or would be compiled."""

    verdict: str  #: "hit", "never-seen", "differs", "evicted", ...
    tier: str  #: where the artifact lies now
    reason: str
    since_ms: int  #: when the entry was evicted or the key compiled, in ms since 1970; 0 if unknown
    nearest_key: str  #: of the earlier build that differs least; empty if none is similar
    nearest_outcome: str
    nearest_time_ms: int
    differences: tuple[Difference, ...]
    more_differences: int  #: number of differences that `differences` leaves out
    tiers: tuple[TierLook, ...]  #: in the order in which a build asks them, up to the first with the artifact

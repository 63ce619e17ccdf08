# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Plain values that answers are made of."""

from __future__ import annotations

from typing import Any, NamedTuple, Tuple


class Timing(NamedTuple):
    """Where the time of a build went, in microseconds."""

    total_us: int  #: from the call to its answer
    queue_us: int  #: waiting for a slot
    compile_us: int  #: 0 where nothing was compiled


class ToolchainName(NamedTuple):
    """Which compiler a build was made by."""

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
    architectures: tuple[str, ...] = ()  #: those that NVRTC lists ("sm_90"); none: it can't list them


class RejectedToolchain(NamedTuple):
    """A CUDA installation that was found and is not used."""

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
    uid: int  #: whom it runs as
    limits: dict[str, int]
    problem: str = ""  #: why it is not ready; empty: it is


class Deposit(NamedTuple):
    """Something that this user's programs deposited."""

    key: str
    namespace: str
    gid: int | None  #: whose members may have it
    size: int
    made_at: int  #: seconds since 1970
    used_at: int  #: roughly


class Statistic(NamedTuple):
    """One figure of the daemon."""

    name: str
    label: str  #: the tier of ``hits_total``, otherwise empty
    value: float
    gauge: bool  #: the state of this moment, not a total
    help: str


class Statistics(Tuple[Statistic, ...]):
    """All figures, in the daemon's order. With a name in brackets: its value, or the values by label if it has labels.
    ``dict(statistics)`` has them all."""

    def __getitem__(self, which: Any) -> Any:
        if not isinstance(which, str):
            return super().__getitem__(which)
        values = {each.label: each.value for each in self if each.name == which}
        if not values:
            raise KeyError(which)
        return values.get("", values)

    def keys(self) -> tuple[str, ...]:
        """The names, each once."""
        return tuple(dict.fromkeys(each.name for each in self))

    def __str__(self) -> str:
        """A line each."""
        return "\n".join(f"{f'{each.name} ({each.label})' if each.label else each.name:36} {each.value:.15g}" for each in self)


class Difference(NamedTuple):
    """A difference between a build and an earlier one."""

    field: str
    name: str
    was: str  #: an option's text, a SHA-256, "absent", "a directory", or empty
    now: str
    was_lines: int
    now_lines: int


class TierLook(NamedTuple):
    """What one tier has of an artifact."""

    tier: str
    finding: str  #: "has-it", "no-entry", "refused", "no-answer", ...
    reason: str


class Explanation(NamedTuple):
    """Why a build was, or would be, compiled."""

    verdict: str  #: "hit", "never-seen", "differs", "evicted", ...
    tier: str  #: where the artifact lies now
    reason: str
    since_ms: int  #: when the entry went, or a key was compiled; since 1970, 0: neither
    nearest_key: str  #: empty: no earlier build resembles it
    nearest_outcome: str
    nearest_time_ms: int
    differences: tuple[Difference, ...]
    more_differences: int  #: that are not listed
    tiers: tuple[TierLook, ...]  #: in the order in which a build asks them, up to the one that has it

# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Turning a plug-in on and off in this process, the changes that it makes, and the releases for which it may be on."""

from __future__ import annotations

import functools
import threading
from importlib import metadata
from typing import Any, Callable, Optional, Protocol

from .daemon import own_client
from .leases import LeaseClient, Settings
from .report import Report


class Hooks(Protocol):
    """The changes that a plug-in makes to the package that it serves."""

    def attach(self) -> None: ...

    def detach(self) -> None: ...


_MISSING = object()


class Patches:
    """The changes that were made, undone in the opposite order. Made and removed by one thread at a time."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Sets an attribute of a module or class. One that it only inherited is deleted again by `undo`."""
        own = vars(owner).get(name, _MISSING)
        setattr(owner, name, value)
        self.afterwards(lambda: delattr(owner, name) if own is _MISSING else setattr(owner, name, own))

    def afterwards(self, undo: Callable[[], Any]) -> None:
        """Has `undo` call this as well."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Puts everything back as it was."""
        while self._undo:
            self._undo.pop()()


class NotServed(Exception):
    """The package is not one to change: the text says why."""


def tested_release(package: str, tested: tuple[str, ...]) -> str:
    """Returns the installed release of a package. Raises NotServed if it is none of those that were tested."""
    try:
        release = metadata.version(package)
    except metadata.PackageNotFoundError:
        raise NotServed(f"{package} is not installed") from None
    if release not in tested:
        raise NotServed(f"{package} {release} was not tested with it; {', '.join(tested)} were")
    return release


class Switch:
    """Turns one plug-in on and off. Thread-safe.

    `serves` names what is served ("cuda.compute"), `variable` the environment variable that turns it on at import,
    `find` the package with its release ("cuda-cccl 1.2.1") or raises NotServed.
    """

    def __init__(self, serves: str, variable: str, find: Callable[[], str], report: Report):
        self.report = report
        self._serves = serves
        self._variable = variable
        self._find = find
        self._lock = threading.Lock()
        self._hooks: Optional[Hooks] = None
        self._why_off: Optional[str] = "install() was not called"

    def install(self, make: Callable[[str], Hooks]) -> bool:
        """Attaches the hooks that `make` returns for the release. False, with a warning in the log, if it must stay
        off."""
        with self._lock:
            if self._hooks is not None:
                return True
            try:
                release = self._find()
            except NotServed as reason:
                self._why_off = str(reason)
                self.report.logger.warning("%s is not cached: %s", self._serves, reason)
                return False
            hooks = make(release)
            hooks.attach()
            self._hooks, self._why_off = hooks, None
            return True

    def uninstall(self) -> None:
        """Puts the package back as it was."""
        with self._lock:
            if self._hooks is not None:
                self._hooks.detach()
                self._hooks, self._why_off = None, "uninstall() was called"

    def status(self) -> dict[str, Any]:
        """``on``, ``why_off``, and the counts of the report."""
        return {"on": self._hooks is not None, "why_off": self._why_off, **self.report.snapshot()}

    def told(self) -> str:
        """Whether it is on in a process like this one, in a line, with the way to turn it on."""
        try:
            release = self._find()
        except NotServed as reason:
            return f"off: {reason}"
        except Exception as error:  # of packages that are not ours
            return f"off: {error}"
        if self._hooks is not None:
            return f"on, for {release} ({self._variable})"
        return f"off until {self.report.logger.name}.install() is called or {self._variable}=1 is set, for {release}"


class Install(Protocol):
    """Turns on a plug-in that keeps its results as deposits."""

    def __call__(
        self, *, client: Optional[Callable[[], LeaseClient]] = None, group: Optional[str] = None, wait: float = 120.0
    ) -> bool: ...


def installer(switch: Switch, hooks: Callable[[Settings, str], Hooks]) -> Install:
    """The `install` of such a plug-in. `hooks` makes its hooks for a release."""

    def install(
        *, client: Optional[Callable[[], LeaseClient]] = None, group: Optional[str] = None, wait: float = 120.0
    ) -> bool:
        """Turns the cache on for this process.

        Parameters
        ----------
        client
            Makes the client that is used, at the first compile. Default: one that all plug-ins share.
        group
            The name of a Unix group whose members share what is kept. Default: only this user's processes do.
        wait
            Seconds for which another process that makes the same thing is waited for, before it is made here. Once that
            was in vain this process waits for a second each time, until the daemon answers.

        Returns
        -------
        bool
            Whether it is on. If not, ``status()["why_off"]`` says why.
        """
        return switch.install(functools.partial(hooks, Settings(client or own_client, group, wait)))

    return install

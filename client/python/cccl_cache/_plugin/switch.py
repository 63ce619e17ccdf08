# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The switch that turns a plug-in on and off in this process, and the releases for which a plug-in may be on."""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
import os
import sys
import threading
from importlib import metadata
from typing import Any, Callable, Mapping, Optional, Protocol

from .._library import check_type
from .daemon import own_client
from .leases import LeaseClient, Settings
from .report import Report


class Hooks(Protocol):
    """The changes of a plug-in to the package that it serves."""

    def attach(self) -> None: ...

    def detach(self) -> None: ...


_MISSING = object()
_OFF = ("", "0", "false", "no", "off")  # as in _cccl_cache_at_import.py, which does not load the package


class Patches:
    """Changes to a package, with a way to undo them in the opposite order. For one thread at a time."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Sets an attribute of a module or class. `undo` restores it, or deletes it if it was inherited before."""
        own = vars(owner).get(name, _MISSING)
        setattr(owner, name, value)
        self.afterwards(lambda: delattr(owner, name) if own is _MISSING else setattr(owner, name, own))

    def afterwards(self, undo: Callable[[], Any]) -> None:
        """Adds a call to those that `undo` makes."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Undoes all changes."""
        while self._undo:
            self._undo.pop()()


class NotServed(Exception):
    """The package can't be served. The text has the reason."""


def installed_release(package: str) -> str:
    """Returns the installed release of a package. Raises NotServed if there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise NotServed(f"{package} is not installed") from None


def tested_release(package: str, tested: tuple[str, ...]) -> str:
    """Returns the installed release of a package. Raises NotServed if it is not among the tested releases."""
    release = installed_release(package)
    if release not in tested:
        raise NotServed(f"{package} {release} was not tested with it; {', '.join(tested)} were")
    return release


def capable_release(package: str, find_difference: Callable[[], str]) -> str:
    """Returns a package with its release, whatever its number. Raises NotServed if `find_difference` returns what the
    package lacks, or raises an error."""
    release = installed_release(package)
    try:
        differs = find_difference()
    except AttributeError as error:  # as `found` raises it
        differs = str(error)
    except Exception as error:  # a foreign package may raise any error
        differs = f"{type(error).__name__}: {error}"
    if differs:
        raise NotServed(f"{package} {release} differs from what is served: {differs}")
    return f"{package} {release}"


def found(module: str, name: str) -> Any:
    """Returns what a module has under a dotted name. Imports the module. Raises AttributeError."""
    try:
        return operator.attrgetter(name)(importlib.import_module(module))
    except AttributeError:
        raise AttributeError(f"{module} has no {name}") from None


_Functions = Mapping[tuple[str, str], list[str]]


def differing(parameters: _Functions, uses: _Functions = {}) -> str:
    """Returns how a package differs from these functions, by module and dotted name; empty if it does not. Imports the
    modules. Raises AttributeError if a function is missing.

    `parameters` has the parameters of each. "..." at the end stands for any others. `uses` has names that each uses, itself
    or in a function inside it.
    """
    for (module, name), wanted in parameters.items():
        present = list(inspect.signature(found(module, name)).parameters)
        if wanted[-1:] == ["..."]:
            present[len(wanted) - 1 :] = ["..."]
        if present != wanted:
            return f"{module} has no {name}({', '.join(wanted)})"
    for (module, name), wanted in uses.items():
        missing = set(wanted) - _names(inspect.unwrap(found(module, name)).__code__)
        if missing:
            return f"{module}: {name} does not use {', '.join(sorted(missing))}"
    return ""


def _names(code: Any) -> set[str]:
    """Returns the names that a function and the functions inside it use."""
    inner = (each for each in code.co_consts if hasattr(each, "co_names"))
    return set(code.co_names).union(*map(_names, inner))


class Switch:
    """Turns one plug-in on and off. Thread-safe.

    `serves` is the name of the served package ("cuda.compute"). `variable` is the environment variable that turns the
    plug-in on at the import of `module`. `find` returns the package with its release ("cuda-cccl 1.2.1") or raises
    NotServed. `find_unimported` does the same by the package's metadata alone: `told` calls it while `module` is not
    imported.
    """

    def __init__(self, serves: str, variable: str, find: Callable[[], str], report: Report, *, module: str,
                 find_unimported: Optional[Callable[[], str]] = None):
        self.report = report
        self._serves = serves
        self.variable = variable
        self._find = find
        self._module, self._find_unimported = module, find_unimported
        self._lock = threading.RLock()
        self._finding = False
        self._hooks: Optional[Hooks] = None
        self._why_off: Optional[str] = "install() was not called"

    def install(self, make: Callable[[str], Hooks]) -> bool:
        """Attaches the hooks that `make` returns for the release. Returns False if the plug-in's variable turns it off, or
        if it must stay off, which is logged as a warning."""
        with self._lock:
            if self._hooks is not None or self._finding:  # an import by `find` may install the plug-in too
                return self._hooks is not None
            if turned_off := self._turned_off():
                self._why_off = turned_off
                return False
            self._finding = True
            try:
                release = self._find()
            except NotServed as reason:
                self._why_off = str(reason)
                self.report.logger.warning("%s is not cached: %s", self._serves, reason)
                return False
            finally:
                self._finding = False
            hooks = make(release)
            hooks.attach()
            self._hooks, self._why_off = hooks, None
            return True

    def uninstall(self) -> None:
        """Turns the cache off. Earlier results stay usable."""
        with self._lock:
            if self._hooks is not None:
                self._hooks.detach()
                self._hooks, self._why_off = None, "uninstall() was called"

    def status(self) -> dict[str, Any]:
        """Returns the counts of this process.

        ``on``, ``why_off``; the counts of the plug-in, for most those of `cccl_cache.steps.counts` (``hits``, ``made``, ...);
        ``not_cached`` and ``errors``: counts by reason.
        """
        return {"on": self._hooks is not None, "why_off": self._why_off, **self.report.snapshot()}

    def told(self) -> str:
        """Returns a line that says whether the plug-in is on in this environment, and how to turn it on."""
        if turned_off := self._turned_off():
            return f"off: {turned_off}"
        imported = self._module in sys.modules
        find = self._find if imported or self._find_unimported is None else self._find_unimported
        try:
            release = find()
        except NotServed as reason:
            return f"off: {reason}"
        except Exception as error:  # a foreign package may raise any error
            return f"off: {error}"
        if self._hooks is not None:
            return f"on, for {release} ({self.variable})"
        if not imported and os.environ.get(self.variable, os.environ.get("CCCL_CACHE", "0")).lower() not in _OFF:
            condition = "" if find is self._find else ", if the release has what is needed"
            return f"on at the import of {self._module}{condition}: {release} ({self.variable})"
        return f"off until {self.report.logger.name}.install() is called or {self.variable}=1 is set, for {release}"

    def _turned_off(self) -> str:
        """Returns why `install` has no effect: the plug-in's own variable turns it off. Empty if it does not."""
        value = os.environ.get(self.variable, "")
        return f"{self.variable} is {value}" if value and value.lower() in _OFF else ""


class Install(Protocol):
    """The `install` of a plug-in that keeps its results as deposits."""

    def __call__(
        self, *, client: Optional[Callable[[], LeaseClient]] = None, group: Optional[str] = None, wait: float = 120.0
    ) -> bool: ...


def installer(switch: Switch, hooks: Callable[[Settings, str], Hooks], longest_wait: float = 120.0) -> Install:
    """Returns the `install` of a plug-in that keeps deposits. `hooks` returns the hooks for a release. `longest_wait` is the
    default of `wait`."""

    def install(
        *, client: Optional[Callable[[], LeaseClient]] = None, group: Optional[str] = None, wait: float = longest_wait
    ) -> bool:
        """Turns the cache on for this process.

        Parameters
        ----------
        client
            Returns the client; called at the first compile. Default: a client that all plug-ins share.
        group
            The name of a Unix group whose members share the results. Default: this user alone.
        wait
            Seconds to wait for another process that makes the same result: 120, or 1,200 for whole compiles of a framework.
            If the wait times out, this process makes the result. It then waits only one second each time, until the daemon
            answers.

        Returns
        -------
        bool
            Whether the plug-in is on. If not, ``status()["why_off"]`` has the reason.
        """
        check_type("wait", "a number of seconds", wait, int, float)
        return switch.install(functools.partial(hooks, Settings(client or own_client, group, wait)))

    return install

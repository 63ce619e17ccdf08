# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""hardened.py UNIT COMMAND... runs a command under a unit's hardening, for machines without systemd. It restricts system
calls as systemd does for SystemCallFilter, SystemCallErrorNumber, MemoryDenyWriteExecute, RestrictNamespaces,
RestrictAddressFamilies and NoNewPrivileges. An unknown directive that could stop a compiler is an error."""

import ctypes
import os
import pathlib
import subprocess
import sys

# Directives that have no effect on system calls, or that check_installation covers.
HARMLESS = {
    "CapabilityBoundingSet", "AmbientCapabilities", "IPAddressDeny", "RestrictRealtime", "RestrictSUIDSGID",
    "LockPersonality", "SystemCallArchitectures", "DevicePolicy", "KeyringMode", "RemoveIPC",
}
KNOWN = {
    "NoNewPrivileges": "yes", "RestrictAddressFamilies": "AF_UNIX", "RestrictNamespaces": "yes",
    "MemoryDenyWriteExecute": "yes", "SystemCallErrorNumber": "EPERM",
}
ALLOW, REFUSE, NO_FAMILY, NO_CALL = 0x7FFF0000, 0x50001, 0x50000 | 97, 0x50000 | 38
NOT_EQUAL, MASKED_EQUAL = 1, 7
WRITE, EXECUTE = 2, 4
SHARED_EXECUTE = 0o100000
NAMESPACES = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
AF_UNIX = 1
NO_NEW_PRIVILEGES = 38


class Argument(ctypes.Structure):
    _fields_ = [("number", ctypes.c_uint), ("operation", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


class Filter:
    """A system-call filter for this process and all its children."""

    def __init__(self, otherwise):
        self.library = ctypes.CDLL("libseccomp.so.2")
        self.library.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.library.seccomp_init(otherwise))

    def add(self, action, call, *arguments):
        number = self.library.seccomp_syscall_resolve_name(call.encode())
        if number < 0:
            return  # not of this architecture
        array = (Argument * len(arguments))(*arguments)
        failed = self.library.seccomp_rule_add_array(self.context, action, number, len(arguments), array)
        assert failed == 0, f"{call}: {failed}"

    def load(self):
        failed = self.library.seccomp_load(self.context)
        assert failed == 0, f"the filter: {failed}"


def hardening(unit):
    """Returns the directives of the unit's part on hardening. For system calls, returns all allowed calls."""
    part = pathlib.Path(unit).read_text().split("\n# Hardening", 1)[1].split("\n[Install]")[0]
    found, calls = {}, set()
    for line in part.splitlines()[1:]:
        if not line or line.startswith("#"):
            continue
        name, value = line.split("=", 1)
        found[name] = value
        if name == "SystemCallFilter":
            named = {call for word in value.lstrip("~").split() for call in calls_of(word)}
            calls = calls - named if value.startswith("~") else calls | named
    found["SystemCallFilter"] = calls
    for name, value in found.items():
        assert name in HARMLESS or name == "SystemCallFilter" or KNOWN.get(name) == value, f"{name}={value}: not known here"
    return found


def calls_of(word):
    """Returns a system call, or all calls of a group."""
    if not word.startswith("@"):
        yield word
        return
    done = subprocess.run(["systemd-analyze", "syscall-filter", word], stdout=subprocess.PIPE, text=True, check=True)
    for line in (line.strip() for line in done.stdout.splitlines()[1:]):
        if line and not line.startswith("#"):
            yield from calls_of(line)


def restrict(found):
    allowed = Filter(REFUSE)
    for call in found["SystemCallFilter"]:
        allowed.add(ALLOW, call)
    refused = Filter(ALLOW)
    if "MemoryDenyWriteExecute" in found:
        refused.add(REFUSE, "mmap", Argument(2, MASKED_EQUAL, WRITE | EXECUTE, WRITE | EXECUTE))
        refused.add(REFUSE, "mprotect", Argument(2, MASKED_EQUAL, EXECUTE, EXECUTE))
        refused.add(REFUSE, "pkey_mprotect", Argument(2, MASKED_EQUAL, EXECUTE, EXECUTE))
        refused.add(REFUSE, "shmat", Argument(2, MASKED_EQUAL, SHARED_EXECUTE, SHARED_EXECUTE))
    if "RestrictNamespaces" in found:
        for flag in NAMESPACES:
            refused.add(REFUSE, "unshare", Argument(0, MASKED_EQUAL, flag, flag))
            refused.add(REFUSE, "clone", Argument(0, MASKED_EQUAL, flag, flag))
        refused.add(NO_CALL, "clone3")
        refused.add(REFUSE, "setns")
    if "RestrictAddressFamilies" in found:
        refused.add(NO_FAMILY, "socket", Argument(0, NOT_EQUAL, AF_UNIX))
    ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    refused.load()
    allowed.load()


restrict(hardening(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])

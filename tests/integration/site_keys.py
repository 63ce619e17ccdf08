# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keys with which nodes sign what they share."""

import pathlib

from running_daemon import run_cli


class Keys:
    """Key pairs, and lists of those that are trusted."""

    def __init__(self, place):
        self.place = place

    def make(self, name):
        """The files of the secret and of the public key."""
        file = self.place / name
        run_cli("remote", "keygen", "--out", str(file))
        return file, pathlib.Path(f"{file}.pub")

    def trust(self, list_name, *publics):
        file = self.place / list_name
        for public in publics:
            run_cli("remote", "trust", str(public), "--list", str(file))
        return file

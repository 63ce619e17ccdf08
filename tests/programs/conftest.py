# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Programs without knowledge of the cache, with real daemons."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

from daemon_fixtures import directory, make_daemon, real  # noqa: E402,F401

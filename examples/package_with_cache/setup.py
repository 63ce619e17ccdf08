# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Has the daemon compile the kernels of the package, and puts a snapshot of the results into the wheel."""

import os
import sys

import cccl_cache
from setuptools import setup
from setuptools.command.build_py import build_py

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scaled  # noqa: E402

ARCHITECTURES = ("sm_80", "sm_90")


class RecordedBuild(build_py):
    def run(self):
        super().run()
        if self.editable_mode:
            return  # the daemon has all kernels
        snapshot = os.path.join(self.build_lib, "scaled", scaled.SNAPSHOT)
        with cccl_cache.record(snapshot) as recording:
            for arch in ARCHITECTURES:
                scaled.build(arch)
        if recording.summary.records != len(ARCHITECTURES):
            raise RuntimeError("the snapshot does not hold all kernels")


setup(cmdclass={"build_py": RecordedBuild})

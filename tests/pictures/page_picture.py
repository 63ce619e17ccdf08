# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of the page of `stats --html`, by a browser without a window."""

import random
import subprocess

HOURS = 30  # that pass for the daemon; its clock is libfaketime's
FAKETIME = "/usr/$LIB/faketime/libfaketimeMT.so.1"
WIDTH, HEIGHT = 1060, 700  # pixels
NAMES = ("attention.cu", "layer_norm.cu", "scan.cu", "softmax.cu", "step.cu")
KERNEL = 'extern "C" __global__ void k(float* x) {{ x[threadIdx.x] *= {}; }}\n'


class Clock:
    """The daemon's clock, which stands some hours before or after the true time."""

    def __init__(self, file):
        self.file = file
        self.environment = {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1",
                            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}

    def set(self, hours):
        draft = self.file.with_suffix(".draft")
        draft.write_text(f"{hours * 3600:+d}s\n")
        draft.rename(self.file)


def one_hour(machine, choose, users):
    """Some users build programs, of which few are new."""
    for _ in range(choose.randrange(3, 22)):
        number = min(int(choose.paretovariate(0.7)), 60)
        source = machine.home / choose.choice(NAMES)
        source.write_text(KERNEL.format(number))
        machine.build(choose.choice(users), str(source)).wait()


def draw(machine, users, into):
    """Writes page.png."""
    clock = Clock(machine.home.parent / "clock")
    clock.set(-HOURS)
    machine.daemon.stop()
    machine.daemon.environment = clock.environment
    machine.daemon.start()
    machine.run(0, "stats", "--zero")
    choose = random.Random(1)
    for kind in ("float", "double", "int"):
        machine.build(users[1], "reduce.cu", f"REDUCE_TYPE={kind}").wait()
    for hour in range(-HOURS, 1):
        clock.set(hour)
        one_hour(machine, choose, users)
        machine.run(0, "stats", "-v")  # counts in this hour what came since
    page = machine.home / "page.html"
    machine.run(0, "stats", "--html", str(page), before=["unshare", "--uts", "sh", "-c", 'hostname node-17; exec "$@"', "sh"])
    subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}",
         f"--user-data-dir={machine.home}/browser", f"--screenshot={into / 'page.png'}", page.as_uri()], check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A process that compiles with Triton at a test's command, without a GPU. Answers each line with a line of JSON.
Exits at SIGTERM.

"compile NUMBER [OPTIONS]": the digest of the kernel's binary, or the error's name. "forked NUMBER": the same from a child.
"threads NUMBER...": the digests, from as many threads. "status": the counts of the plug-in.
"""

import concurrent.futures
import hashlib
import json
import os
import signal
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

kept = []  # errors with their tracebacks, as a notebook keeps them


@triton.jit
def scale(x, n, FACTOR: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    value = tl.load(x + at, mask=at < n)
    tl.store(x + at, value * FACTOR, mask=at < n)


def compile(number, options=None):
    signature = {"x": "*fp32", "n": "i32", "FACTOR": "constexpr"}
    source = ASTSource(fn=scale, signature=signature, constexprs={(2,): int(number)})
    try:
        kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    except Exception as error:
        kept.append(error)
        return type(error).__name__
    assert kernel.asm["cubin"] == kernel.kernel
    return hashlib.sha256(kernel.asm["cubin"]).hexdigest()


def forked(number):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, compile(number).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return os.read(reading, 100).decode()


def threads(numbers):
    with concurrent.futures.ThreadPoolExecutor(len(numbers)) as pool:
        return list(pool.map(compile, numbers))


def status():
    plugin = sys.modules.get("cccl_cache.triton")
    return plugin.status() if plugin else None


def answer(command, *arguments):
    if command == "compile":
        return compile(arguments[0], json.loads(arguments[1]) if arguments[1:] else None)
    return {"forked": forked, "threads": lambda *numbers: threads(numbers), "status": status}[command](*arguments)


answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Triton prints the compiler's messages there
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # an error would be that of the compile
print(json.dumps("ready"), file=answers, flush=True)
for line in sys.stdin:
    print(json.dumps(answer(*line.split())), file=answers, flush=True)

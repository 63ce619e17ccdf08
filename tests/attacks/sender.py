# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A stock gRPC client that sends its files, which need not exist, and prints the daemon's questions.

sender.py SOCKET UID reads {"source", "options", "files": {path: text}} as JSON, and prints {"outcome", "fingerprint",
"rounds", "seconds"}. A round has the questions of one message of the daemon: [path, whether it wants the contents].
"""

import hashlib
import json
import pathlib
import queue
import subprocess
import sys
import time

from bystander import become


def send(daemon, uid, source, files, *options):
    """Runs a build as this user, in a process of its own: only that process loads gRPC, because the tests fork."""
    asked = {"source": source, "options": options, "files": files}
    done = subprocess.run(
        [sys.executable, __file__, daemon.socket, str(uid)], input=json.dumps(asked), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def build(socket, uid, source, options, files):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
    import grpc
    from stock_requests import nvrtc_request

    from cccl_cache.v1 import build_pb2, build_pb2_grpc

    become(uid)

    def answer(question):
        path = question.path.decode()
        if path not in files:
            return build_pb2.FileAnswer(kind=build_pb2.FILE_KIND_ABSENT)
        text = files[path].encode()
        inode = sorted(files).index(path) + 1 if len(files) < 100 else hash(path) & 0xFFFFFFFF
        said = build_pb2.FileAnswer(kind=build_pb2.FILE_KIND_REGULAR, inode=inode, size=len(text))
        if question.contents:
            said.contents = text
        else:
            said.sha256 = hashlib.sha256(text).digest()
        return said

    request = nvrtc_request(source, *options, working_directory="/nowhere")
    request.nvrtc.append_toolchain_headers = True  # the default of the command line
    request.files_view.mount_namespace += 1  # a namespace that the daemon does not know
    messages = queue.SimpleQueue()
    messages.put(build_pb2.BuildWithFilesRequest(build=request))
    rounds = []
    begun = time.monotonic()
    for reply in build_pb2_grpc.BuildStub(grpc.insecure_channel(f"unix:{socket}")).BuildWithFiles(iter(messages.get, None)):
        if reply.questions:
            rounds.append([[question.path.decode(), question.contents] for question in reply.questions])
            messages.put(build_pb2.BuildWithFilesRequest(answers=[answer(question) for question in reply.questions]))
        if reply.HasField("reply"):
            outcome = build_pb2.Outcome.Name(reply.reply.outcome)
            assert outcome != "OUTCOME_FAILED", reply.reply.log
            fingerprint = reply.reply.fingerprint
            messages.put(None)
    print(json.dumps({"outcome": outcome, "fingerprint": fingerprint, "rounds": rounds, "seconds": time.monotonic() - begun}))


if __name__ == "__main__":
    build(sys.argv[1], int(sys.argv[2]), **json.load(sys.stdin))

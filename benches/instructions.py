#!/usr/bin/env python3
"""Counts the instructions that `table-orm serve`, in memory, takes for a request. Other load does not change them.

    cargo build --release -p table-cli
    benches/instructions.py

Needs Python 3.9, Linux and valgrind. Each kind of request is sent in two runs, one with more of them, so that the
difference has no start in it.
"""

import os
import re
import signal
import subprocess
import tempfile

from emulators import Client, Requests, Server, binary

KINDS = {
    "transaction of 100": (300, lambda requests, n: requests.transaction(f"batch{n // 10}", n * 100)),
    "insert": (3000, lambda requests, n: requests.insert("one", n)),
    "point get": (3000, lambda requests, n: requests.get("load", n % 100)),
}


def run(write, count):
    """The instructions of a server that answers so many requests."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command = valgrind + [binary(), "serve", "--port", "0", "--silent"]
        server = Server("table-orm", command, r"listening at http://[0-9.]+:(\d+)")
        client, requests = Client(server.port), Requests(server.port)
        client.send(requests.create_table())
        client.send(requests.transaction("load", 0))
        for n in range(count):
            client.send(write(requests, n))
        # On this signal it stops as after Ctrl-C, so that callgrind writes what it has counted.
        server.process.send_signal(signal.SIGINT)
        server.process.wait()
        with open(out, encoding="ascii") as counted:
            return int(re.search(r"^(?:summary|totals): (\d+)", counted.read(), re.MULTILINE).group(1))


def main():
    if subprocess.run(["valgrind", "--version"], capture_output=True, check=False).returncode:
        raise SystemExit("valgrind does not run")
    print("| | instructions |\n|---|---|")
    for kind, (count, write) in KINDS.items():
        few = count // 3
        print(f"| {kind} | {(run(write, count) - run(write, few)) / (count - few):,.0f} |", flush=True)


if __name__ == "__main__":
    main()

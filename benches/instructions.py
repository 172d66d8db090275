#!/usr/bin/env python3
"""Counts the instructions of an operation. Other load does not change them.

    benches/instructions.py library
    cargo build --release -p table-cli && benches/instructions.py server

`library` counts point gets and inserts of the embedded store, beside raw redb, and what the Azure store does in its
process, beside a client written by hand. `server` counts what `table-orm serve`, in memory, takes for a request.

Needs Python 3.9, Linux and valgrind. Each operation is done in two runs, one with more of them, so that the difference
has no start in it.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from emulators import Client, Requests, Server, binary

SERVER = {
    "transaction of 100": (300, lambda requests, n: requests.transaction(f"batch{n // 10}", n * 100)),
    "insert": (3000, lambda requests, n: requests.insert("one", n)),
    "point get": (3000, lambda requests, n: requests.get("load", n % 100)),
}

# Each operation with its benchmark, its arguments, how often it is done, and the anchor it is held against.
LIBRARY = [
    ("get from raw redb", "counted", ["get from raw redb"], 30000, None),
    ("get from memory", "counted", ["get from memory"], 30000, "get from raw redb"),
    ("get from a file", "counted", ["get from a file"], 30000, "get from raw redb"),
    ("insert into memory", "counted", ["insert into memory"], 10000, None),
    *[
        (row, "counted", [row], 60000, None if row == whole else whole)
        for store in ["memory", "a file"]
        for whole in [f"row of a list from {store}"]
        for row in [whole, f"projected {whole}"]
    ],
    *[
        (f"{work}, {client}", "wire", ["counted", client, work], times, None if client == "by hand" else f"{work}, by hand")
        for work, times in [("point get", 3000), ("insert", 3000), ("transaction of 100 inserts", 300)]
        for client in ["by hand", "table-orm"]
    ],
]


def total(out):
    """The instructions that callgrind has counted."""
    with open(out, encoding="ascii") as counted:
        return int(re.search(r"^(?:summary|totals): (\d+)", counted.read(), re.MULTILINE).group(1))


def valgrind(out):
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]


def served(write, count):
    """The instructions of a server that answers so many requests."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        command = valgrind(out) + [binary(), "serve", "--port", "0", "--silent"]
        server = Server("table-orm", command, r"listening at http://[0-9.]+:(\d+)")
        client, requests = Client(server.port), Requests(server.port)
        client.send(requests.create_table())
        client.send(requests.transaction("load", 0))
        for n in range(count):
            client.send(write(requests, n))
        # On this signal it stops as after Ctrl-C, so that callgrind writes what it has counted.
        server.process.send_signal(signal.SIGINT)
        server.process.wait()
        return total(out)


def done(command, count):
    """The instructions of a program that does something so many times."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        subprocess.run(valgrind(out) + command + [str(count)], check=True, stderr=subprocess.DEVNULL)
        return total(out)


def each(run, count):
    """The instructions of one operation, of a run that does so many and one that does a third."""
    few = count // 3
    return (run(count) - run(few)) / (count - few)


def benchmarks():
    """The programs of the benchmarks, by their names."""
    build = ["cargo", "bench", "-p", "benches", "--features", "wire", "--no-run", "--message-format=json"]
    build += ["--bench", "counted", "--bench", "wire"]
    lines = subprocess.run(build, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    built = [json.loads(line) for line in lines]
    return {one["target"]["name"]: one["executable"] for one in built if one.get("executable")}


def library():
    programs, counts = benchmarks(), {}
    print("| | instructions | over the anchor |\n|---|---|---|")
    for name, program, arguments, count, anchor in LIBRARY:
        command = [programs[program], *arguments]
        counts[name] = each(lambda times, command=command: done(command, times), count)
        ratio = f"{counts[name] / counts[anchor]:.2f}" if anchor else ""
        print(f"| {name} | {counts[name]:,.0f} | {ratio} |", flush=True)


def server():
    print("| | instructions |\n|---|---|")
    for kind, (count, write) in SERVER.items():
        print(f"| {kind} | {each(lambda times, write=write: served(write, times), count):,.0f} |", flush=True)


def main():
    what = {"library": library, "server": server}.get(sys.argv[1] if len(sys.argv) == 2 else "")
    if not what:
        raise SystemExit(__doc__)
    if subprocess.run(["valgrind", "--version"], capture_output=True, check=False).returncode:
        raise SystemExit("valgrind does not run")
    what()


if __name__ == "__main__":
    main()

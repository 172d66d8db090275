#!/usr/bin/env python3
"""Measures `table-orm serve`, in memory and with a file of either durability, beside Azurite, in one run.

    cargo build --release -p table-cli
    npm install --prefix /tmp/azurite azurite@3.37.0
    benches/emulators.py /tmp/azurite/node_modules/azurite [rows [name ..]]

Needs Python 3.9 and Linux. Each server is asked by the same client over kept connections, written here over
sockets, so that a client library does not decide the figures. The client writes the bytes of its requests before
the clock runs, some hundreds at a time, so a rate has its sends, its receives and the end of each answer in it.
Its share of the time is the same for all.
More arguments name the servers to ask, by the beginning of their names.
"""

import base64
import email.utils
import hashlib
import hmac
import os
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time

ACCOUNT = "devstoreaccount1"
KEY = base64.b64decode("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")
SECONDS = 3
# How many requests are written before they are sent.
AT_A_TIME = 500


class Requests:
    """The bytes of requests to a server. Signatures of a path are computed once in ten minutes."""

    def __init__(self, port):
        self.endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
        self.signed = {}

    def request(self, method, resource, query="", body=b"", kind="application/json"):
        path = f"/{ACCOUNT}/{resource}"
        date, authorization, made = self.signed.get(path, ("", "", -600))
        if time.monotonic() > made + 600:
            date = email.utils.formatdate(usegmt=True)
            signature = hmac.new(KEY, f"{date}\n/{ACCOUNT}{path}".encode(), hashlib.sha256).digest()
            authorization = f"SharedKeyLite {ACCOUNT}:{base64.b64encode(signature).decode()}"
            if "'" not in path:
                self.signed[path] = date, authorization, time.monotonic()
        head = (
            f"{method} {path}{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {authorization}\r\n"
            f"x-ms-date: {date}\r\nx-ms-version: 2020-12-06\r\nPrefer: return-no-content\r\n"
            "Accept: application/json;odata=nometadata\r\nDataServiceVersion: 3.0\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def create_table(self):
        return self.request("POST", "Tables", body=b'{"TableName":"bench"}')

    def delete_table(self):
        return self.request("DELETE", "Tables('bench')")

    def insert(self, partition, row):
        return self.request("POST", "bench", body=entity(partition, row))

    def transaction(self, partition, first):
        batch = "36522ad7-fc75-4b56-8c71-56071383e77b"
        head = (
            f"--changeset_{batch}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
            f"POST {self.endpoint}/bench HTTP/1.1\r\nPrefer: return-no-content\r\n"
            "Accept: application/json;odata=nometadata\r\nContent-Type: application/json\r\n\r\n"
        ).encode()
        parts = b"".join(b"%b%b\r\n" % (head, entity(partition, first + n)) for n in range(100))
        body = (
            f"--batch_{batch}\r\nContent-Type: multipart/mixed; boundary=changeset_{batch}\r\n\r\n".encode()
            + parts
            + f"--changeset_{batch}--\r\n--batch_{batch}--\r\n".encode()
        )
        return self.request("POST", "$batch", body=body, kind=f"multipart/mixed; boundary=batch_{batch}")

    def get(self, partition, row):
        return self.request("GET", f"bench(PartitionKey='{partition}',RowKey='{row:09}')")

    def page(self, filter_text):
        return self.request("GET", "bench()", f"?$filter={filter_text}")


class Client:
    """One connection."""

    length = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request):
        self.socket.sendall(request)
        return self.finish()

    def finish(self):
        """Receives the answer to the only request that was sent. Returns its head and its body."""
        received = self.receive()
        while b"\r\n\r\n" not in received:
            received += self.receive()
        head, content = received.split(b"\r\n\r\n", 1)
        length = self.length.search(head)
        if length:
            parts, missing = [content], int(length.group(1)) - len(content)
            while missing > 0:
                parts.append(self.receive())
                missing -= len(parts[-1])
            content = b"".join(parts)
        elif b"\r\ntransfer-encoding: chunked" in head.lower():
            content = self.chunked(content)
        if head[9:10] != b"2":
            raise RuntimeError(f"{head.decode()} {content[:300]}")
        return head, content

    def chunked(self, rest):
        content = b""
        while True:
            while b"\r\n" not in rest:
                rest += self.receive()
            size, rest = rest.split(b"\r\n", 1)
            size = int(size, 16)
            while len(rest) < size + 2:
                rest += self.receive()
            content, rest = content + rest[:size], rest[size + 2 :]
            if not size:
                return content

    def receive(self):
        # More at a time takes longer: each buffer would be mapped into memory and given back.
        received = self.socket.recv(1 << 16)
        if not received:
            raise RuntimeError("the connection was closed")
        return received


def scan(port, filter_text):
    """Reads a query to its end. Returns its rows and pages."""
    client, requests = Client(port), Requests(port)
    query, rows, pages = filter_text, 0, 0
    while True:
        head, content = client.send(requests.page(query))
        rows, pages = rows + content.count(b'"RowKey"'), pages + 1
        tokens = re.findall(rb"(?i)x-ms-continuation-(Next\w+): *([^\r]*)", head)
        if not tokens:
            return rows, pages
        tokens = {name.lower().decode(): value.decode() for name, value in tokens}
        query = f"{filter_text}&NextPartitionKey={tokens['nextpartitionkey']}"
        query += f"&NextRowKey={tokens['nextrowkey']}" if "nextrowkey" in tokens else ""


def entity(partition, row):
    return (
        b'{"PartitionKey":"%b","RowKey":"%09d","Name":"Ann Miller","City":"Boston","Age":%d,'
        b'"Chip":"1234567890123","Chip@odata.type":"Edm.Int64","Start":"2011-11-06T09:10:00Z",'
        b'"Start@odata.type":"Edm.DateTime","Share":0.5,"Paid":true,"Note":"a text of some thirty characters"}'
    ) % (partition.encode(), row, row % 90)


class Server:
    def __init__(self, name, command, ready):
        self.name = name
        start = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            found = re.search(ready, line)
            if found:
                self.port = int(found.group(1))
                break
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except OSError:
                time.sleep(0.002)
        self.start = time.perf_counter() - start

    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024

    def cpu(self):
        """The seconds of all cores so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def rate(port, in_flight, write, seconds=SECONDS):
    """How often a second a request is answered, with so many connections in flight, and how often it was.

    `write(number)` returns the bytes of a request. The clock runs only while requests are sent and answered.
    """
    clients, number, done, spent = [Client(port) for _ in range(in_flight)], 0, 0, 0
    while spent < seconds:
        requests = [write(number + n) for n in range(AT_A_TIME)]
        number += len(requests)
        start = time.perf_counter()
        done += exchange(clients, requests, start + seconds - spent)
        spent += time.perf_counter() - start
    return done / spent, done


def exchange(clients, requests, end=float("inf")):
    """Sends requests over all connections until `end`, each when the one before is answered. Returns how many."""
    requests, done, in_flight = iter(requests), 0, 0
    for client, request in zip(clients, requests):
        client.socket.sendall(request)
        in_flight += 1
    if len(clients) > 1:
        waiting = selectors.DefaultSelector()
        for client in clients:
            waiting.register(client.socket, selectors.EVENT_READ, client)
    while in_flight:
        for client in [key.data for key, _ in waiting.select()] if len(clients) > 1 else clients:
            client.finish()
            done += 1
            request = next(requests, None) if time.perf_counter() < end else None
            if request is None:
                in_flight -= 1
            else:
                client.socket.sendall(request)
    return done


def load(port, rows, in_flight=4):
    """Inserts rows in transactions of 100. Returns the seconds it took."""
    clients, requests = [Client(port) for _ in range(in_flight)], Requests(port)
    start = time.perf_counter()
    exchange(clients, (requests.transaction(f"load{n // 100_000:04}", n) for n in range(0, rows, 100)))
    return time.perf_counter() - start


def measure(server, rows):
    port = server.port
    requests = Requests(port)
    Client(port).send(requests.create_table())
    figures = {"start-up, ms": server.start * 1000}

    def empty():
        client = Client(port)
        client.send(requests.delete_table())
        client.send(requests.create_table())

    def measure_rate(name, in_flight, write):
        cpu = server.cpu()
        figures[f"{name}/s, {in_flight} in flight"], count = rate(port, in_flight, write)
        figures[f"CPU of each of these {name}, µs, {in_flight} in flight"] = (server.cpu() - cpu) / count * 1e6

    # Into a server that has stored nothing yet, so that its memory is that of these rows.
    figures[f"loading {rows:,} rows, s"] = load(port, rows)
    figures["memory with them, MB"] = server.memory()
    part = min(rows, 100_000)
    measure_rate("point gets", 1, lambda n: requests.get("load0000", n * 7919 % part))
    measure_rate("pages of 1000", 1, lambda n: requests.page("PartitionKey%20eq%20'load0000'"))
    start = time.perf_counter()
    found, pages = scan(port, "PartitionKey%20eq%20'load0000'%20and%20Age%20eq%2077")
    if found != len(range(77, part, 90)):
        raise RuntimeError(f"{found} rows were found")
    figures[f"a filter over a partition of {part:,} rows, ms"] = (time.perf_counter() - start) * 1000
    figures["its pages"] = pages
    measure_rate("transactions of 100 into that partition", 1, lambda n: requests.transaction("load0000", rows + n * 100))
    # Azurite takes longer the more rows a partition has. Each of these rates starts with no rows, and transactions go
    # into partitions of 1,000.
    empty()
    measure_rate("inserts", 1, lambda n: requests.insert("one", n))
    empty()
    measure_rate("inserts", 16, lambda n: requests.insert(f"many{n % 16}", n))
    empty()
    measure_rate("transactions of 100", 1, lambda n: requests.transaction(f"batch{n // 10}", n * 100))
    empty()
    measure_rate("transactions of 100", 4, lambda n: requests.transaction(f"batch{n // 40}-{n % 4}", n * 100))
    return figures


def main():
    azurite, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    idle = keep_awake()
    try:
        results = ask(azurite, rows)
    finally:
        for process in idle:
            process.kill()
    names = list(results)
    print("| |", " | ".join(names), "|")
    print("|---" * (len(names) + 1) + "|")
    for figure in results[names[0]]:
        print(f"| {figure} |", " | ".join(f"{results[name][figure]:,.1f}" for name in names), "|")


def binary():
    """The path of `table-orm`."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    return os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(root, "target")), "release/table-orm")


def ask(azurite, rows):
    """The figures of each server, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        serve = [binary(), "serve", "--port", "0", "--silent"]
        start = ["node", os.path.join(azurite, "dist/src/table/main.js"), "--tableHost", "127.0.0.1"]
        start += ["--tablePort", str(free_port()), "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
        own, theirs = r"listening at http://[0-9.]+:(\d+)", r"successfully started on [0-9.]+:(\d+)"
        results = {}
        for name, command, ready in [
            ("table-orm, memory", serve, own),
            ("table-orm, file", serve + ["--db", os.path.join(folder, "bench.redb")], own),
            (
                "table-orm, file, eventual",
                serve + ["--db", os.path.join(folder, "eventual.redb"), "--durability", "eventual"],
                own,
            ),
            ("Azurite, memory", start + ["--inMemoryPersistence"], theirs),
            ("Azurite, file", start + ["--location", folder], theirs),
        ]:
            if sys.argv[3:] and not name.startswith(tuple(sys.argv[3:])):
                continue
            server = Server(name, command, ready)
            try:
                results[name] = measure(server, rows)
                print(name, results[name], file=sys.stderr)
            finally:
                server.stop()
    return results


def keep_awake():
    """Starts a process for each core that runs only while nothing else does there.

    An idle core of a virtual machine takes longer to wake than a server takes for a request. With one request in flight,
    a rate would tell of that alone.
    """
    code = "import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"
    return [subprocess.Popen([sys.executable, "-c", code]) for _ in range(os.cpu_count() or 1)]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


if __name__ == "__main__":
    main()

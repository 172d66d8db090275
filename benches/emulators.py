#!/usr/bin/env python3
"""Measures `table-orm serve`, in memory and with a file of either durability, beside Azurite, in one run.

    cargo build --release -p table-cli
    npm install --prefix /tmp/azurite azurite@3.37.0
    benches/emulators.py /tmp/azurite/node_modules/azurite [rows [name ..]]

Needs Python 3.9 and Linux. Each server is asked by the same client over kept connections, written here over
sockets, so that a client library does not decide the figures. Its share of the time is the same for all.
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


class Client:
    """One connection. Signatures of a path are computed once in ten minutes."""

    signed = {}

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"

    def send(self, method, resource, query="", body="", kind="application/json"):
        self.start(method, resource, query, body, kind)
        return self.finish()

    def start(self, method, resource, query="", body="", kind="application/json"):
        path = f"/{ACCOUNT}/{resource}"
        date, authorization, made = self.signed.get(path, ("", "", 0))
        if time.monotonic() > made + 600:
            date = email.utils.formatdate(usegmt=True)
            signature = hmac.new(KEY, f"{date}\n/{ACCOUNT}{path}".encode(), hashlib.sha256).digest()
            authorization = f"SharedKeyLite {ACCOUNT}:{base64.b64encode(signature).decode()}"
            if "'" not in path:
                self.signed[path] = date, authorization, time.monotonic()
        self.socket.sendall(
            f"{method} {path}{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {authorization}\r\n"
            f"x-ms-date: {date}\r\nx-ms-version: 2020-12-06\r\nPrefer: return-no-content\r\n"
            "Accept: application/json;odata=nometadata\r\nDataServiceVersion: 3.0\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )

    def finish(self):
        while b"\r\n\r\n" not in self.received:
            self.receive()
        head, content = self.received.split(b"\r\n\r\n", 1)
        status, lower = int(head[9:12]), head.lower()
        length = re.search(rb"\r\ncontent-length: *(\d+)", lower)
        if b"\r\ntransfer-encoding: chunked" in lower:
            self.received, content = content, b""
            while True:
                while b"\r\n" not in self.received:
                    self.receive()
                size, rest = self.received.split(b"\r\n", 1)
                size = int(size, 16)
                while len(rest) < size + 2:
                    rest += self.some()
                content, self.received = content + rest[:size], rest[size + 2 :]
                if not size:
                    break
        else:
            size = int(length.group(1)) if length else 0
            parts = [content]
            missing = size - len(content)
            while missing > 0:
                parts.append(self.some())
                missing -= len(parts[-1])
            content, self.received = b"".join(parts), b""
        if status >= 300:
            raise RuntimeError(f"{status} {content[:300]}")
        return head, content

    def receive(self):
        self.received += self.some()

    def some(self):
        received = self.socket.recv(1 << 20)
        if not received:
            raise RuntimeError("the connection was closed")
        return received

    def insert(self, partition, row):
        self.start("POST", "bench", body=entity(partition, row))

    def transaction(self, partition, first):
        batch = "36522ad7-fc75-4b56-8c71-56071383e77b"
        head = (
            f"--changeset_{batch}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
            f"POST {self.endpoint}/bench HTTP/1.1\r\nPrefer: return-no-content\r\n"
            "Accept: application/json;odata=nometadata\r\nContent-Type: application/json\r\n\r\n"
        )
        parts = "".join(f"{head}{entity(partition, first + n)}\r\n" for n in range(100))
        body = (
            f"--batch_{batch}\r\nContent-Type: multipart/mixed; boundary=changeset_{batch}\r\n\r\n"
            f"{parts}--changeset_{batch}--\r\n--batch_{batch}--\r\n"
        )
        self.start("POST", "$batch", body=body, kind=f"multipart/mixed; boundary=batch_{batch}")

    def get(self, partition, row):
        self.start("GET", f"bench(PartitionKey='{partition}',RowKey='{row:09}')")

    def page(self, filter_text):
        self.start("GET", "bench()", f"?$filter={filter_text}")

    def scan(self, filter_text):
        """Reads a query to its end. Returns its rows and pages."""
        query, rows, pages = f"?$filter={filter_text}", 0, 0
        while True:
            head, content = self.send("GET", "bench()", query)
            rows, pages = rows + content.count(b'"RowKey"'), pages + 1
            tokens = re.findall(rb"(?i)x-ms-continuation-(Next\w+): *([^\r]*)", head)
            if not tokens:
                return rows, pages
            tokens = {name.lower().decode(): value.decode() for name, value in tokens}
            query = f"?$filter={filter_text}&NextPartitionKey={tokens['nextpartitionkey']}"
            query += f"&NextRowKey={tokens['nextrowkey']}" if "nextrowkey" in tokens else ""


def entity(partition, row):
    return (
        f'{{"PartitionKey":"{partition}","RowKey":"{row:09}","Name":"Ann Miller","City":"Boston","Age":{row % 90},'
        '"Chip":"1234567890123","Chip@odata.type":"Edm.Int64","Start":"2011-11-06T09:10:00Z",'
        '"Start@odata.type":"Edm.DateTime","Share":0.5,"Paid":true,"Note":"a text of some thirty characters"}'
    )


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


def rate(port, in_flight, work, seconds=SECONDS):
    """How often a second `work(client, number)` is answered, with so many connections in flight, and how often."""
    clients, number = [Client(port) for _ in range(in_flight)], 0
    waiting = selectors.DefaultSelector()
    start = time.perf_counter()
    for client in clients:
        waiting.register(client.socket, selectors.EVENT_READ, client)
        work(client, number)
        number += 1
    done = 0
    while time.perf_counter() < start + seconds:
        for key, _ in waiting.select():
            client = key.data
            client.finish()
            work(client, number)
            number, done = number + 1, done + 1
    for client in clients:
        client.finish()
    done += in_flight
    return done / (time.perf_counter() - start), done


def load(port, rows, in_flight=4):
    """Inserts rows in transactions of 100. Returns the seconds it took."""
    clients, number = [Client(port) for _ in range(in_flight)], 0
    waiting = selectors.DefaultSelector()
    start, missing = time.perf_counter(), 0
    for client in clients:
        waiting.register(client.socket, selectors.EVENT_READ, client)
        client.transaction(f"load{number // 100_000:04}", number)
        number, missing = number + 100, missing + 1
    while missing:
        for key, _ in waiting.select():
            key.data.finish()
            missing -= 1
            if number < rows:
                key.data.transaction(f"load{number // 100_000:04}", number)
                number, missing = number + 100, missing + 1
    return time.perf_counter() - start


def measure(server, rows):
    port = server.port
    Client(port).send("POST", "Tables", body='{"TableName":"bench"}')
    figures = {"start-up, ms": server.start * 1000}

    def empty():
        client = Client(port)
        client.send("DELETE", "Tables('bench')")
        client.send("POST", "Tables", body='{"TableName":"bench"}')

    def measure_rate(name, in_flight, work):
        cpu = server.cpu()
        figures[f"{name}/s, {in_flight} in flight"], count = rate(port, in_flight, work)
        figures[f"CPU of each of these {name}, µs, {in_flight} in flight"] = (server.cpu() - cpu) / count * 1e6

    # Into a server that has stored nothing yet, so that its memory is that of these rows.
    figures[f"loading {rows:,} rows, s"] = load(port, rows)
    figures["memory with them, MB"] = server.memory()
    part = min(rows, 100_000)
    measure_rate("point gets", 1, lambda c, n: c.get("load0000", n * 7919 % part))
    measure_rate("pages of 1000", 1, lambda c, n: c.page("PartitionKey%20eq%20'load0000'"))
    start = time.perf_counter()
    found, pages = Client(port).scan("PartitionKey%20eq%20'load0000'%20and%20Age%20eq%2077")
    if found != len(range(77, part, 90)):
        raise RuntimeError(f"{found} rows were found")
    figures[f"a filter over a partition of {part:,} rows, ms"] = (time.perf_counter() - start) * 1000
    figures["its pages"] = pages
    measure_rate("transactions of 100 into that partition", 1, lambda c, n: c.transaction("load0000", rows + n * 100))
    # Azurite takes longer the more rows a partition has. Each of these rates starts with no rows, and transactions go
    # into partitions of 1,000.
    empty()
    measure_rate("inserts", 1, lambda c, n: c.insert("one", n))
    empty()
    measure_rate("inserts", 16, lambda c, n: c.insert(f"many{n % 16}", n))
    empty()
    measure_rate("transactions of 100", 1, lambda c, n: c.transaction(f"batch{n // 10}", n * 100))
    empty()
    measure_rate("transactions of 100", 4, lambda c, n: c.transaction(f"batch{n // 40}-{n % 4}", n * 100))
    return figures


def main():
    azurite, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    binary = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(root, "target")), "release/table-orm")
    with tempfile.TemporaryDirectory() as folder:
        serve = [binary, "serve", "--port", "0", "--silent"]
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
    names = list(results)
    print("| |", " | ".join(names), "|")
    print("|---" * (len(names) + 1) + "|")
    for figure in results[names[0]]:
        print(f"| {figure} |", " | ".join(f"{results[name][figure]:,.1f}" for name in names), "|")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


if __name__ == "__main__":
    main()

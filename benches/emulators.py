#!/usr/bin/env python3
"""Measures `table-orm serve`, in memory and with a file, beside Azurite, in one run.

    cargo build --release -p table-cli
    npm install --prefix /tmp/azurite azurite@3.37.0
    benches/emulators.py /tmp/azurite/node_modules/azurite [rows]

Needs Python 3.9 and Linux. Each server is asked by the same client over kept connections, written here, so
that a client library does not decide the figures. Its share of the time is the same for all.
"""

import base64
import email.utils
import hashlib
import hmac
import http.client
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid

ACCOUNT = "devstoreaccount1"
KEY = base64.b64decode("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")
SECONDS = 3


class Client:
    """One connection."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"

    def send(self, method, resource, query="", body=None, headers=()):
        path = f"/{ACCOUNT}/{resource}"
        date = email.utils.formatdate(usegmt=True)
        signature = hmac.new(KEY, f"{date}\n/{ACCOUNT}{path}".encode(), hashlib.sha256).digest()
        sent = {
            "Authorization": f"SharedKeyLite {ACCOUNT}:{base64.b64encode(signature).decode()}",
            "x-ms-date": date,
            "x-ms-version": "2020-12-06",
            "Accept": "application/json;odata=nometadata",
            "Prefer": "return-no-content",
            "Content-Type": "application/json",
            **dict(headers),
        }
        self.connection.request(method, path + query, body, sent)
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {resource}: {answer.status} {content[:300]}")
        return answer, content

    def insert(self, partition, row):
        self.send("POST", "bench", body=entity(partition, row))

    def transaction(self, partition, first):
        batch = str(uuid.uuid4())
        parts = "".join(
            f"--changeset_{batch}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
            f"POST {self.endpoint}/bench HTTP/1.1\r\nPrefer: return-no-content\r\n"
            "Accept: application/json;odata=nometadata\r\nContent-Type: application/json\r\n\r\n"
            f"{entity(partition, first + n)}\r\n"
            for n in range(100)
        )
        body = (
            f"--batch_{batch}\r\nContent-Type: multipart/mixed; boundary=changeset_{batch}\r\n\r\n"
            f"{parts}--changeset_{batch}--\r\n--batch_{batch}--\r\n"
        )
        _, content = self.send(
            "POST", "$batch", body=body, headers={"Content-Type": f"multipart/mixed; boundary=batch_{batch}"}
        )
        if content.count(b"HTTP/1.1 204") != 100:
            raise RuntimeError(content[:300])

    def get(self, partition, row):
        self.send("GET", f"bench(PartitionKey='{partition}',RowKey='{row:09}')")

    def page(self, filter_text):
        return self.send("GET", "bench()", f"?$filter={filter_text}")


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

    def stop(self):
        self.process.terminate()
        self.process.wait()


def rate(port, workers, work):
    """How often a second `work(client, number)` is done by so many connections."""
    numbers, lock, end, errors = iter(range(10**9)), threading.Lock(), time.perf_counter() + SECONDS, []
    counts = [0] * workers

    def run(worker):
        client = Client(port)
        try:
            while time.perf_counter() < end:
                with lock:
                    number = next(numbers)
                work(client, number)
                counts[worker] += 1
        except Exception as error:  # shown below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(workers)]
    start = time.perf_counter()
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    if errors:
        raise errors[0]
    return sum(counts) / (time.perf_counter() - start)


def measure(server, rows):
    port = server.port
    Client(port).send("POST", "Tables", body='{"TableName":"bench"}')
    figures = {"start-up, ms": server.start * 1000}
    figures["inserts/s, 1 in flight"] = rate(port, 1, lambda c, n: c.insert("one", n))
    figures["inserts/s, 16 in flight"] = rate(port, 16, lambda c, n: c.insert(f"many{n % 16}", n))
    figures["transactions of 100/s, 1 in flight"] = rate(port, 1, lambda c, n: c.transaction("batch", n * 100))
    start, client = time.perf_counter(), Client(port)
    for first in range(0, rows, 100):
        client.transaction("scan", first)
    figures[f"loading {rows} rows, s"] = time.perf_counter() - start
    figures["point gets/s, 1 in flight"] = rate(port, 1, lambda c, n: c.get("scan", n * 7919 % rows))
    figures["pages of 1000/s"] = rate(port, 1, lambda c, n: c.page("PartitionKey%20eq%20'scan'"))
    figures[f"memory after these, MB"] = server.memory()
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
            ("Azurite, memory", start + ["--inMemoryPersistence"], theirs),
            ("Azurite, file", start + ["--location", folder], theirs),
        ]:
            server = Server(name, command, ready)
            try:
                results[name] = measure(server, rows)
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

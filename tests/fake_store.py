"""An object store in memory, behind a real local HTTP server.

Implements enough of the protocols of S3, Google Cloud Storage (which are similar) and Azure: one
server serves s3://, gs:// and az://.
"""

import bisect
import collections
import contextlib
import dataclasses
import datetime
import email.utils
import hashlib
import heapq
import http.server
import itertools
import re
import socket
import struct
import sys
import threading
import time
import urllib.parse
import uuid
import xml.sax.saxutils
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Kinds of outages: the store responds with a status, closes connections without a response, resets
# them, refuses new ones, or does not respond until the outage ends.
OUTAGES = ("503", "429", "500", "silent", "reset", "refused", "stalled")
# Azure's operations by the query's "comp".
_AZURE = {"list": "azure_list", "block": "block", "blocklist": "blocklist", "batch": "batch"}
_NAMES = {"azure_list": "list", "block": "part", "blocklist": "finish", "batch": "delete_many"}


@dataclasses.dataclass(kw_only=True)
class _Fault:
    """A fault of a number of requests, or for some seconds from the first one."""

    kind: str
    path: str
    operation: str
    times: float = float("inf")
    seconds: float = 0.0
    after: int = 0
    of: str = ""
    end: float = 0.0


class FakeStore:
    """Buckets of objects, a log of requests, and planned faults.

    Attributes:
        endpoint: The server's URL.
        objects: "bucket/key" → bytes.
        computed: Bucket → number of its further keys, and the key of each number, in order. The
            content of each is its key.
        calls: Number of requests by operation: get, head, list, put, delete, delete_many, and for
            multipart uploads start, part, finish, abort. Requests with a fault are included.
        requests: (operation, "bucket/key") of each request, in order.
        fetched_bytes: Bytes of objects in responses to get.
        received_bytes: Bytes in requests.
        most_at_once: Maximal number of concurrent requests.
        date: Modification time of all objects.
        latency_s: Time until each response.
        query: Query of the last request.
        signed: Signature of the last request; empty if it had none.
        blocks, uploads: Content of Azure's blocks and of unfinished multipart uploads.
        out: Set once an outage has begun.
        turned_away: Number of requests during outages, without refused ones.
    """

    def __init__(self, handler: "type[Handler] | None" = None) -> None:
        self.objects: dict[str, bytes] = {}
        self.computed: dict[str, tuple[int, Callable[[int], str]]] = {}
        self.buckets: set[str] = set()
        self.calls: collections.Counter[str] = collections.Counter()
        self.requests: list[tuple[str, str]] = []
        self.fetched_bytes = 0
        self.received_bytes = 0
        self.most_at_once = 0
        self.latency_s = 0.0
        self.date = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        self.query: dict[str, str] = {}
        self.signed = ""
        self.lock = threading.RLock()
        self.blocks: dict[tuple[str, str], bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self._faults: list[_Fault] = []
        self._at_once = 0
        self.out = threading.Event()
        self.turned_away = 0
        self._handler = handler or Handler
        self._server = self._serve(0)
        self.port = self._server.server_address[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def _serve(self, port: int) -> "_Server":
        server = _Server(("127.0.0.1", port), self._handler)
        server.store = self
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()

    def environment(self) -> dict[str, str]:
        """Return environment variables that direct s3://, gs:// and az:// here."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "STORAGE_EMULATOR_HOST": self.endpoint,
            "AZURE_STORAGE_ENDPOINT": self.endpoint,
            "AZURE_STORAGE_ACCOUNT_NAME": "account",
            "AZURE_STORAGE_ACCOUNT_KEY": "a2V5",
            "AZURE_ALLOW_HTTP": "true",
        }

    def put(self, url: str, data: bytes = b"") -> None:
        """Store an object."""
        self.objects[_place(url)] = data

    def put_folder(self, url: str, folder: Path) -> str:
        """Store all files below a folder, and return the URL."""
        for path in filter(Path.is_file, folder.rglob("*")):
            self.put(f"{url}/{path.relative_to(folder)}", path.read_bytes())
        return url

    def keys(self, url: str) -> list[str]:
        """Return the sorted keys of the objects below a URL, without the bucket."""
        below = [place for place in self.objects if place.startswith(_place(url))]
        return sorted(place.partition("/")[2] for place in below)

    def new_bucket(self) -> str:
        """Make a bucket with a new name, since a process keeps the client of a bucket."""
        name = f"bucket-{uuid.uuid4().hex[:12]}"
        self.buckets.add(name)
        return name

    def forget(self) -> None:
        """Reset the counts to 0."""
        with self.lock:
            self.calls.clear()
            self.requests.clear()
            self.fetched_bytes = self.received_bytes = self.most_at_once = 0

    def fail(
        self, path: str, status: int, times: float = float("inf"), operation: str = ""
    ) -> None:
        """Make the next requests fail.

        Args:
            path: "s3://bucket/key", or a prefix of it.
            status: HTTP status; 0 closes the connection without a response, 1 during one.
            times: Number of requests.
            operation: As in `calls`; empty for any.
        """
        kind = {0: "silent", 1: "half"}.get(status, str(status))
        self._faults.append(_Fault(kind=kind, path=_place(path), operation=operation, times=times))

    def fail_after(self, path: str, times: int, operation: str = "put") -> None:
        """Execute the next requests, but close their connections without a response."""
        self._faults.append(
            _Fault(kind="done", path=_place(path), operation=operation, times=times)
        )

    def outage(
        self,
        kind: str,
        seconds: float,
        *,
        after: int = 0,
        operation: str = "",
        path: str = "",
        of: str = "",
    ) -> None:
        """Plan an outage.

        Args:
            kind: One of OUTAGES.
            seconds: Duration.
            after: Number of requests of that operation that succeed before it begins.
            operation: As in `calls`: the outage begins with such a request; empty for any.
            path: "s3://bucket/key", or a prefix of it: other requests succeed, unless the store
                refuses connections.
            of: Signing key: requests signed by other keys succeed as well.
        """
        self.out.clear()
        self._faults = [fault for fault in self._faults if not fault.seconds]
        self._faults.append(
            _Fault(
                kind=kind,
                path=_place(path),
                operation=operation,
                seconds=seconds,
                after=after,
                of=of,
            )
        )

    def mend(self) -> None:
        """End all faults."""
        self._faults.clear()

    def fault(self, path: str, operation: str, signed: str) -> _Fault | None:
        """Return the fault of a request."""
        with self.lock:
            return next(
                (each for each in self._faults if self._is_met(each, path, operation, signed)), None
            )

    def _is_met(self, fault: _Fault, path: str, operation: str, signed: str) -> bool:
        if not path.startswith(fault.path) or fault.of not in signed:
            return False
        if not fault.end and fault.operation not in ("", operation):
            return False
        if not fault.seconds:
            fault.times -= 1
            return fault.times >= 0
        if fault.after > 0:
            fault.after -= 1
            return False
        if not fault.end:
            fault.end = time.monotonic() + fault.seconds
            if fault.kind == "refused":
                threading.Thread(target=self._refuse, args=(fault.end,), daemon=True).start()
            self.out.set()
        is_out = time.monotonic() < fault.end
        self.turned_away += is_out
        return is_out

    def _refuse(self, end: float) -> None:
        """Close the port until then."""
        self.close()
        self._server.hang_up()
        time.sleep(max(0.0, end - time.monotonic()))
        self._server = self._serve(self.port)

    def content(self, place: str) -> bytes | None:
        """Return an object, stored or computed."""
        bucket, _, key = place.partition("/")
        count, key_of = self.computed.get(bucket, (0, str))
        number = bisect.bisect_left(range(count), key, key=key_of)
        is_computed = number < count and key_of(number) == key
        return self.objects.get(place, key.encode() if is_computed else None)

    @contextlib.contextmanager
    def counted(self, operation: str) -> Iterator[None]:
        """Count a request."""
        with self.lock:
            self.calls[operation] += 1
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            time.sleep(self.latency_s)
            yield
        finally:
            with self.lock:
                self._at_once -= 1


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    store: FakeStore

    def __init__(self, *args: Any) -> None:
        self._connections: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Register the connection."""
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close the connection, or reset it if that is planned."""
        self._connections.discard(request)
        self.close_request(request)

    def hang_up(self) -> None:
        """Close all connections."""
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """Report errors of this module, but not connections that the client closed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    """Handles the requests of one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server
    is_silent = False  # executes requests without a response

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def _serve(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.place = urllib.parse.unquote(url.path).lstrip("/")
        self.bucket, _, self.key = self.place.partition("/")
        self.body = self.rfile.read(int(self.headers.get("content-length") or 0))
        method = _AZURE.get(self.query.get("comp", "")) or self._operation()
        operation = _NAMES.get(method, method)
        path = (
            f"{self.bucket}/{self.query.get('prefix', '')}" if operation == "list" else self.place
        )
        store = self.server.store
        store.query = self.query
        store.signed = self.headers.get("authorization", "")
        store.requests.append((operation, self.place))
        store.received_bytes += len(self.body)
        with store.counted(operation):
            fault = store.fault(path, operation, store.signed)
            if fault is not None and fault.kind != "done":
                self._fail(store, fault)
                return
            self.is_silent = fault is not None
            self.close_connection |= self.is_silent
            if self.bucket in store.buckets:
                getattr(self, f"_{method}")(store)
            else:
                message = "The specified bucket does not exist"
                self._answer(404, _error("NoSuchBucket", message))

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve

    def _fail(self, store: FakeStore, fault: _Fault) -> None:
        if fault.kind.isdigit():
            self._answer(int(fault.kind), _error("Fault", "as ordered"))
            return
        if fault.kind == "half":
            self._get(store, share=0.5)
        elif fault.kind == "reset":
            linger = struct.pack("ii", 1, 0)  # makes closing reset it
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        elif fault.kind == "stalled":
            time.sleep(max(0.0, fault.end - time.monotonic()))
        self.close_connection = True

    def _operation(self) -> str:
        query = self.query
        match self.command:
            case "GET":
                return "get" if self.key else "list"
            case "HEAD":
                return "head"
            case "PUT" if "uploadId" in query:
                return "part"
            case "PUT":
                return "put"
            case "POST" if "uploads" in query:
                return "start"
            case "POST":
                return "finish" if "uploadId" in query else "delete_many"
        return "abort" if "uploadId" in query else "delete"

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        if self.is_silent:
            return
        self.send_response(status)
        fields = {"Content-Length": str(len(body))}
        fields.update({name.replace("_", "-"): value for name, value in headers.items()})
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _answer_xml(self, name: str, content: str) -> None:
        self._answer(200, f"<{name}>{content}</{name}>".encode())

    def _object(self, store: FakeStore) -> bytes | None:
        data = store.content(self.place)
        if data is None:
            self._answer(404, _error("NoSuchKey", "The specified key does not exist."))
        return data

    def _get(self, store: FakeStore, share: float = 1) -> None:
        if (data := self._object(store)) is None:
            return
        part, status, fields = data, 200, _facts(store, data)
        if match := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("range", "")):
            first, last = match.groups()
            start = int(first) if first else len(data) - int(last)
            end = min(int(last) + 1, len(data)) if first and last else len(data)
            if start >= len(data):
                self._answer(416, _error("InvalidRange", "not satisfiable"))
                return
            part, status = data[start:end], 206
            fields["Content_Range"] = f"bytes {start}-{end - 1}/{len(data)}"
        with store.lock:
            store.fetched_bytes += len(part)
        fields["Content_Length"] = str(len(part))
        self._answer(status, part[: int(share * len(part))], **fields)

    def _head(self, store: FakeStore) -> None:
        if (data := self._object(store)) is not None:
            self._answer(200, **{**_facts(store, data), "Content_Length": str(len(data))})

    def _page(self, store: FakeStore, after: str) -> tuple[list[str], list[str], str]:
        """Return folders, keys, and the token of the next page, if any."""
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter", "")
        folders: list[str] = []
        keys: list[str] = []
        for key in self._keys(store, prefix, after):
            name, cut, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            folder = f"{prefix}{name}{delimiter}" if cut else ""
            if key <= after:
                continue
            if len(folders) + len(keys) == 1000:
                return folders, keys, after
            (folders if folder else keys).append(folder or key)
            # The next page begins after everything in a folder.
            after = f"{folder}\U0010ffff" if folder else key
        return folders, keys, ""

    def _keys(self, store: FakeStore, prefix: str, after: str) -> Iterator[str]:
        """Yield the sorted keys below a prefix, beginning near `after`."""
        begin = f"{self.bucket}/{prefix}"
        with store.lock:
            places = sorted(place for place in store.objects if place.startswith(begin))
        stored = (place[len(self.bucket) + 1 :] for place in places)
        count, key_of = store.computed.get(self.bucket, (0, str))
        first = bisect.bisect_left(range(count), max(prefix, after), key=key_of)
        computed = itertools.takewhile(
            lambda key: key.startswith(prefix), map(key_of, range(first, count))
        )
        return heapq.merge(stored, computed)

    def _list(self, store: FakeStore) -> None:
        after = max(self.query.get("continuation-token", ""), self.query.get("start-after", ""))
        folders, keys, token = self._page(store, after)
        entries = []
        for key in keys:
            data = store.content(f"{self.bucket}/{key}") or b""
            entries.append(
                f"<Contents><Key>{_escape(key)}</Key><LastModified>{store.date:%FT%TZ}"
                f"</LastModified><ETag>{_tag(data)}</ETag><Size>{len(data)}</Size></Contents>"
            )
        entries += [
            f"<CommonPrefixes><Prefix>{_escape(name)}</Prefix></CommonPrefixes>" for name in folders
        ]
        if token:
            entries.append(f"<NextContinuationToken>{_escape(token)}</NextContinuationToken>")
        entries.append(f"<IsTruncated>{str(bool(token)).lower()}</IsTruncated>")
        self._answer_xml("ListBucketResult", "".join(entries))

    def _azure_list(self, store: FakeStore) -> None:
        after = self.query.get("marker", "")
        if start := self.query.get("startFrom"):  # inclusive
            after = max(after, start[:-1] + chr(ord(start[-1]) - 1) + "\U0010ffff")
        folders, keys, token = self._page(store, after)
        entries = [f"<BlobPrefix><Name>{_escape(name)}</Name></BlobPrefix>" for name in folders]
        for key in keys:
            data = store.content(f"{self.bucket}/{key}") or b""
            entries.append(
                f"<Blob><Name>{_escape(key)}</Name><Properties><Last-Modified>{_http_date(store)}"
                f"</Last-Modified><Etag>{_tag(data)}</Etag><Content-Length>{len(data)}"
                "</Content-Length><Content-Type>a/b</Content-Type></Properties></Blob>"
            )
        blobs = f"<Blobs>{''.join(entries)}</Blobs><NextMarker>{_escape(token)}</NextMarker>"
        self._answer_xml("EnumerationResults", blobs)

    def _block(self, store: FakeStore) -> None:
        store.blocks[self.place, self.query["blockid"]] = self.body
        self._answer(201)

    def _blocklist(self, store: FakeStore) -> None:
        names = re.findall(r"<Uncommitted>(.*?)</Uncommitted>", self.body.decode())
        with store.lock:
            blocks = [store.blocks.pop((self.place, name), None) for name in names]
            if None in blocks:
                self._answer(400, _error("InvalidBlockList", "a block is none of the uncommitted"))
                return
            data = b"".join(filter(None, blocks))
            store.objects[self.place] = data
        self._answer(201, ETag=_tag(data))

    def _batch(self, store: FakeStore) -> None:
        answers = []
        for number, path in enumerate(
            re.findall(r"DELETE /(\S*?)(?:\?\S*)? HTTP", self.body.decode())
        ):
            with store.lock:
                there = store.objects.pop(urllib.parse.unquote(path), None) is not None
            status = "202 Accepted" if there else "404 The specified blob does not exist."
            code = "" if there else "x-ms-error-code: BlobNotFound\r\n"
            answers.append(
                "--batch\r\nContent-Type: application/http\r\n"
                f"Content-ID: {number}\r\n\r\nHTTP/1.1 {status}\r\n{code}\r\n\r\n"
            )
        body = "".join([*answers, "--batch--\r\n"]).encode()
        self._answer(202, body, Content_Type="multipart/mixed; boundary=batch")

    def _put(self, store: FakeStore) -> None:
        with store.lock:
            there = store.objects.get(self.place)
            if is_met := self._is_condition_met(there):
                store.objects[self.place] = self.body
        if not is_met and there is None and "x-amz-date" in self.headers:
            self._answer(404, _error("NoSuchKey", "The specified key does not exist."))
        elif not is_met:
            is_new = self.headers.get("if-none-match") and "x-ms-version" in self.headers
            self._answer(409 if is_new else 412, _error("PreconditionFailed", "another version"))
        else:
            status = 201 if "x-ms-version" in self.headers else 200
            self._answer(status, ETag=_tag(self.body), x_goog_generation=_generation(self.body))

    def _is_condition_met(self, there: bytes | None) -> bool:
        """Whether the request's conditions allow replacing the existing object."""
        tag, version = self.headers.get("if-match"), self.headers.get("x-goog-if-generation-match")
        if self.headers.get("if-none-match") == "*" or version == "0":
            return there is None
        if tag is not None:
            return there is not None and tag == _tag(there)
        return version is None or (there is not None and version == _generation(there))

    def _delete(self, store: FakeStore) -> None:
        with store.lock:
            there = store.objects.pop(self.place, None)
        # Google reports missing objects, Amazon does not.
        missing = there is None and "x-amz-date" not in self.headers
        self._answer(404 if missing else 204)

    def _delete_many(self, store: FakeStore) -> None:
        keys = re.findall("<Key>(.*?)</Key>", self.body.decode())
        with store.lock:
            for key in keys:
                store.objects.pop(f"{self.bucket}/{xml.sax.saxutils.unescape(key)}", None)
        deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
        self._answer_xml("DeleteResult", deleted)

    def _start(self, store: FakeStore) -> None:
        name = uuid.uuid4().hex
        store.uploads[name] = {}
        self._answer_xml("InitiateMultipartUploadResult", f"<UploadId>{name}</UploadId>")

    def _part(self, store: FakeStore) -> None:
        store.uploads[self.query["uploadId"]][int(self.query["partNumber"])] = self.body
        self._answer(200, ETag=_tag(self.body))

    def _finish(self, store: FakeStore) -> None:
        parts = store.uploads.pop(self.query["uploadId"], None)
        if parts is None:
            message = "The specified multipart upload does not exist."
            self._answer(404, _error("NoSuchUpload", message))
            return
        data = b"".join(parts[number] for number in sorted(parts))
        store.objects[self.place] = data
        self._answer_xml("CompleteMultipartUploadResult", f"<ETag>{_tag(data)}</ETag>")

    def _abort(self, store: FakeStore) -> None:
        store.uploads.pop(self.query["uploadId"], None)
        self._answer(204)


def _place(url: str) -> str:
    return url.partition("://")[2] or url


def _http_date(store: FakeStore) -> str:
    return email.utils.format_datetime(store.date, usegmt=True)


def _facts(store: FakeStore, data: bytes) -> dict[str, str]:
    return {
        "ETag": _tag(data),
        "Last_Modified": _http_date(store),
        "Accept_Ranges": "bytes",
        "x_goog_generation": _generation(data),
    }


def _tag(data: bytes) -> str:
    return f'"{hashlib.md5(data).hexdigest()}"'


def _generation(data: bytes) -> str:
    """Return Google's version number of an object."""
    return str(1 + int(hashlib.md5(data).hexdigest()[:12], 16))


def _escape(text: str) -> str:
    return xml.sax.saxutils.escape(text)


def _error(code: str, message: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()

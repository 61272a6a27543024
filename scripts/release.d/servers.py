#!/usr/bin/env python3
"""Two small HTTP servers on free ports of the loopback interface, for the release's test.

Both give the same answer, after 20 and after 60 ms: so long that a busy machine does not hide the
difference. Prints both URLs, then serves until its standard input ends.
"""

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        """A client that closes its connection in the middle is no error."""


def server(delay):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Without it, Nagle's algorithm and delayed acknowledgements add 40 ms to some answers.
        disable_nagle_algorithm = True

        def do_GET(self):
            time.sleep(delay)
            body = b'{"answer": 42}\n'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    made = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{made.server_port}/"


print(server(0.02), server(0.06), flush=True)
sys.stdin.read()

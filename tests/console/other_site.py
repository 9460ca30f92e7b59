"""Another web site, on this machine: pages that try to act on the console."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class OtherSite:
    """Serves one page at every path. What came to it is in `received`."""

    def __init__(self, page):
        self.page = page
        self.received = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.received.append(self.path)
                body = site.page.encode()
                self.send_response(200)
                self.send_header("content-type", "text/html; charset=utf-8")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

"""A receiver of OTLP metrics over HTTP.

It prints its URL, and then a line of JSON for each request: the path, some header fields, and the message.
"""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)


class Receiver(BaseHTTPRequestHandler):
    """Handler of requests."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = ExportMetricsServiceRequest.FromString(body)
        line = {
            "path": self.path,
            "content_type": self.headers["Content-Type"],
            "authorization": self.headers["Authorization"],
            "message": MessageToDict(message),
        }
        print(json.dumps(line), flush=True)
        reply = ExportMetricsServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        """Prints no log."""


server = HTTPServer(("127.0.0.1", 0), Receiver)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()

"""A mock of a token service, which checks the signature of requests for a role with botocore. Prints its address, and a
line for each request."""

import http.server

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

KEYS = Credentials("BASE", "base/secret+x", "tok/en==")
RESPONSE = (
    "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>plimsoll</AccessKeyId>"
    "<SecretAccessKey>plimsoll-secret</SecretAccessKey><SessionToken>t</SessionToken>"
    "<Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
)


class Service(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        fields = self.headers["Authorization"].split(" ", 1)[1].split(",")
        parts = dict(field.strip().split("=", 1) for field in fields)
        _, _, region, service, _ = parts["Credential"].split("/")
        signed = [name for name in parts["SignedHeaders"].split(";") if name != "host"]
        url = f"http://{self.headers['Host']}{self.path}"
        headers = {name: self.headers[name] for name in signed}
        request = AWSRequest(method="POST", url=url, data=body, headers=headers)
        request.context["timestamp"] = self.headers["X-Amz-Date"]
        auth = SigV4Auth(KEYS, service, region)
        text = auth.string_to_sign(request, auth.canonical_request(request))
        agrees = auth.signature(text, request) == parts["Signature"]
        print("agrees" if agrees else "differs", service, region, body.decode(), flush=True)
        answer = RESPONSE.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Service)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()

"""The strict fake of AWS behind real servers, and a DynamoDB that sees keys.

    with Cloud(endpoint) as cloud:
        cloud.urls["imds"]      # and so on, one server for each service
        cloud.wait(lambda: len(cloud.accepted) > 2)

DynamoDB Local takes any keys and keeps the data of each apart. So requests to
it go through here: who signed them is checked as AWS would, and they are
passed on as somebody's who is always the same.
"""
import http.client
import http.server
import os
import threading
import time
import urllib.parse

from fake_aws import FakeAws, Request, Silence, verify

SOMEBODY = ("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-1/"
            "dynamodb/aws4_request, SignedHeaders=host, Signature=0")
EXPIRED = ('{"__type":"com.amazon.coral.service#ExpiredTokenException",'
           '"message":"The security token included in the request is '
           'expired"}')
WAIT_S = 60     # so long that only a real hang meets it


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def any(self):
        cloud, service = self.server.cloud, self.server.service
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = Request(
            self.command, f"http://{self.headers['host']}{self.path}",
            dict(self.headers.items()), body)
        try:
            status, answer = cloud.answer(request, service)
        except Silence:
            self.close_connection = True
            return
        answer = answer.encode() if isinstance(answer, str) else answer
        if status is None:      # all of it, as it is
            self.wfile.write(answer)
            self.close_connection = True
            return
        self.send_response(status)
        if service == "dynamodb":
            self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_PUT = do_POST = any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, cloud, service, listening=None):
        super().__init__(("127.0.0.1", 0), Handler,
                         bind_and_activate=listening is None)
        if listening is not None:
            self.socket.close()
            self.socket = listening
        self.cloud = cloud
        self.service = service
        threading.Thread(target=self.serve_forever, args=(0.02,),
                         daemon=True).start()

    def handle_error(self, request, client_address):
        pass            # a client that goes away is no news


class Cloud:
    SERVICES = ("imds", "container", "sts", "portal", "oidc", "process",
                "dynamodb")

    def __init__(self, dynamodb):
        self.dynamodb = urllib.parse.urlparse(dynamodb)
        self.lock = threading.Condition()
        self.fault = {}         # of a service, for as long as it is there
        self.aws = FakeAws(time.time, self.fault.get,
                           seed=int.from_bytes(os.urandom(4), "big"))
        self.accepted = []      # access key ids, when they change
        self.refused = 0        # since the last that was accepted
        self.servers = {s: Server(self, s) for s in self.SERVICES}
        self.urls = {s: f"http://127.0.0.1:{server.server_port}"
                     for s, server in self.servers.items()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers.values():
            server.shutdown()
            server.server_close()

    def move(self, service, listening):
        """Where a service listens from now on, a socket."""
        old, self.servers[service] = self.servers[service], \
            Server(self, service, listening)
        old.shutdown()
        old.server_close()

    def wait(self, true):
        """Until it is; the time is that of a real hang only."""
        with self.lock:
            if not self.lock.wait_for(true, WAIT_S):
                raise AssertionError(
                    f"it did not come: accepted {self.accepted}, refused "
                    f"{self.refused}, asked {self.aws.requests}")

    def answer(self, request, service):
        if service == "dynamodb":
            return self.pass_on(request)
        with self.lock:
            try:
                if service == "process":
                    status, text = self.aws.process()
                    return (200 if status == 0 else 500), text
                return self.aws.handle(request, service)
            finally:
                self.lock.notify_all()

    def pass_on(self, request):
        with self.lock:
            made = verify(self.aws, request, self.aws.region, "dynamodb")
            good = made is not None and self.aws.valid(made.access_key_id)
            if good and made.access_key_id not in self.accepted[-1:]:
                self.accepted.append(made.access_key_id)
            self.refused = 0 if good else self.refused + 1
            self.lock.notify_all()
        if not good:
            return 400, EXPIRED
        connection = http.client.HTTPConnection(
            self.dynamodb.hostname, self.dynamodb.port, timeout=WAIT_S)
        connection.request("POST", "/", request.body, {
            "X-Amz-Target": request.headers["x-amz-target"],
            "Content-Type": request.headers["content-type"],
            "Authorization": SOMEBODY})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

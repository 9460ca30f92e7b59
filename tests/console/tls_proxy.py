"""A proxy before the service that ends TLS, as nginx or Caddy does: it passes bytes on, and `Host` with them."""

import datetime
import socket
import ssl
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAME = "ledger.example"


def certificate(folder):
    """A certificate of its own maker, for `NAME`. Returns the file that has it and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - day).not_valid_after(now + day).add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    file = folder / "proxy.pem"
    file.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()) + made.public_bytes(pem))
    return file


class TlsProxy:
    """Listens on this machine. `origin` is what browsers call it; `to` is the port of the service, once it is there."""

    def __init__(self, folder):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate(folder))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.origin = f"https://{NAME}:{self.port}"
        self.to = None
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain):
        try:
            outside = self.context.wrap_socket(plain, server_side=True)
            inside = socket.create_connection(("127.0.0.1", self.to))
        except OSError:
            plain.close()
            return
        back = threading.Thread(target=pass_on, args=(inside, outside), daemon=True)
        back.start()
        pass_on(outside, inside)
        back.join()
        outside.close()
        inside.close()

    def close(self):
        self.listener.close()


def pass_on(source, target):
    """Passes bytes on until one side ends."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    try:
        target.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass

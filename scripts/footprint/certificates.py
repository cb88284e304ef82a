"""A certificate authority, and TLS for the fake servers."""

import ssl
import subprocess


def make(folder, address="127.0.0.1"):
    """A certificate authority and a certificate for an address, in files of the folder."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    (folder / "names").write_text(f"subjectAltName=IP:{address}\n")
    for name in ("authority", "server"):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
    openssl(
        *"req -x509 -new -key authority.key -subj /CN=authority -days 2 -out authority.pem".split()
    )
    openssl(*"req -new -key server.key -subj /CN=server -out server.csr".split())
    openssl(
        *"x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial".split(),
        *"-days 2 -extfile names -out server.pem".split(),
    )


def secured(socket, folder):
    """The listening socket with TLS. The handshake happens at the first read, in the thread of the
    connection, so that a slow one does not delay others."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    return context.wrap_socket(socket, server_side=True, do_handshake_on_connect=False)

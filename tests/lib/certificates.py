"""An authority of a test's own, and certificates of it."""

import os
import ssl
import subprocess


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)


class Certificates:
    """An authority, and certificates for the server and a client."""

    def __init__(self, directory):
        self.directory = directory
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ca",
                "-keyout", self.path("ca.key"), "-out", self.path("ca.pem"))
        self.make("server")
        self.make("client")

    def make(self, name, purpose=None):
        """NAME.pem and NAME.key; without a purpose (serverAuth, clientAuth) it may serve any."""
        extensions = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
        if purpose:
            extensions += ["-addext", f"extendedKeyUsage={purpose}"]
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", *extensions,
                "-keyout", self.path(f"{name}.key"), "-out", self.path(f"{name}.csr"))
        openssl("x509", "-req", "-days", "2", "-copy_extensions", "copy",
                "-in", self.path(f"{name}.csr"), "-out", self.path(f"{name}.pem"),
                "-CA", self.path("ca.pem"), "-CAkey", self.path("ca.key"), "-CAcreateserial")

    def revoke(self, *names):
        """crl.pem has these, too, in the place of the one before."""
        with open(self.path("index.txt"), "ab"), \
             open(self.path("ca.cnf"), "w", encoding="ascii") as file:
            file.write("[ca]\ndefault_ca = d\n[d]\ndefault_md = sha256\n"
                       f"database = {self.path('index.txt')}\n")
        words = ("ca", "-config", self.path("ca.cnf"), "-cert", self.path("ca.pem"), "-keyfile",
                 self.path("ca.key"))
        for name in names:
            openssl(*words, "-revoke", self.path(f"{name}.pem"))
        openssl(*words, "-gencrl", "-crldays", "2", "-out", self.path("crl.new"))
        os.rename(self.path("crl.new"), self.path("crl.pem"))

    def path(self, name):
        return os.path.join(self.directory, name)

    def context(self, client=None):
        """Of a client that trusts the authority and shows the certificate of that name."""
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        if client:
            context.load_cert_chain(self.path(f"{client}.pem"), self.path(f"{client}.key"))
        return context

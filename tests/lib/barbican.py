"""
A private Barbican with its simple crypto plugin: SQLite, callers known by a Keystone.
"""

import base64
import os
import shutil

from keystone import PASSWORD
from openstack_service import OpenStackService, ServiceError

PASTE = "/etc/barbican/barbican-api-paste.ini"
CONFIGURATION = """\
[DEFAULT]
host_href = http://127.0.0.1:{port}
sql_connection = sqlite:///{directory}/barbican.db
db_auto_create = false
log_file = {directory}/barbican.log
[database]
connection = sqlite:///{directory}/barbican.db
[queue]
enable = false
[keystone_notifications]
enable = false
[secretstore]
enabled_secretstore_plugins = store_crypto
[crypto]
enabled_crypto_plugins = simple_crypto
[simple_crypto_plugin]
kek = {kek}
[keystone_authtoken]
auth_type = password
auth_url = {keystone}
www_authenticate_uri = {keystone}
username = barbican
password = {password}
project_name = service
user_domain_id = default
project_domain_id = default
"""
# The script of the package has the path of the packaged file.
SCRIPT = """\
from paste import deploy
import barbican.api.app
application = deploy.loadapp("config:{directory}/paste.ini")
"""


class Barbican(OpenStackService):
    name = "barbican"

    def __init__(self, keystone):
        super().__init__()
        self.keystone = keystone

    @property
    def environment(self):
        """Its programs look for their configuration in the home directory, and nowhere else."""
        return {**os.environ, "HOME": self.directory}

    @property
    def command(self):
        return ["uwsgi_python3", "--http-socket", f"127.0.0.1:{self.port}", "--lazy-apps",
                "--enable-threads", "--die-on-term", "--add-header", "Connection: close",
                "--buffer-size", "32768", "--wsgi-file", os.path.join(self.directory, "app.py")]

    def prepare(self):
        os.mkdir(os.path.join(self.directory, ".barbican"))
        shutil.copy(PASTE, os.path.join(self.directory, "paste.ini"))
        files = {".barbican/barbican.conf": CONFIGURATION, "app.py": SCRIPT}
        for name, text in files.items():
            with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
                file.write(text.format(
                    directory=self.directory, port=self.port, keystone=self.keystone.url,
                    password=PASSWORD, kek=base64.b64encode(os.urandom(32)).decode()))
        self.make_database("barbican-db-manage", "upgrade")
        self.keystone.user("barbican", "service", ("admin", "service"))
        self.keystone.service("key-manager", self.url)

    def secret(self, token, payload, secret_type="certificate",
               content_type="application/octet-stream"):
        """The id of a new secret; bytes are sent in base64, as its command line does."""
        fields = {"name": "signer", "secret_type": secret_type,
                  "payload_content_type": content_type}
        if isinstance(payload, bytes):
            fields.update(payload_content_encoding="base64",
                          payload=base64.b64encode(payload).decode())
        else:
            fields.update(payload=payload)
        status, made = self.call("POST", "/v1/secrets", fields, token=token)
        if status != 201:
            raise ServiceError(f"POST /v1/secrets: {status} {made}")
        return made["secret_ref"].rsplit("/", 1)[1]

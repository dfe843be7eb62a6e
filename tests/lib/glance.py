"""
A private Glance: SQLite, files, without Keystone unless it gets sections of its configuration that
have one.
"""

import os
import shutil

from openstack_service import OpenStackService, ServiceError

PASTE = "/etc/glance/glance-api-paste.ini"
CONFIGURATION = """\
[DEFAULT]
bind_host = 127.0.0.1
bind_port = {port}
workers = 0
enabled_backends = file:file
node_staging_uri = file://{directory}/staging
worker_self_reference_url = http://127.0.0.1:{port}
image_cache_dir = {directory}/cache
log_file = {directory}/glance.log
[database]
connection = sqlite:///{directory}/glance.db
[glance_store]
default_backend = file
[file]
filesystem_store_datadir = {directory}/images
[os_glance_staging_store]
filesystem_store_datadir = {directory}/staging
[os_glance_tasks_store]
filesystem_store_datadir = {directory}/tasks
[oslo_concurrency]
lock_path = {directory}/locks
[paste_deploy]
config_file = {directory}/paste.ini
flavor = {flavor}
{sections}"""


class Glance(OpenStackService):
    name = "glance"

    def __init__(self, sections="", flavor="", token=None):
        super().__init__(token)
        self.sections = sections
        self.flavor = flavor  # of its pipeline
        self.configuration = os.path.join(self.directory, "glance.conf")

    @property
    def command(self):
        return ["glance-api", "--config-file", self.configuration]

    def prepare(self):
        for name in ("staging", "images", "tasks", "cache", "locks"):
            os.mkdir(os.path.join(self.directory, name))
        shutil.copy(PASTE, os.path.join(self.directory, "paste.ini"))
        with open(self.configuration, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(directory=self.directory, port=self.port,
                                            flavor=self.flavor, sections=self.sections))
        self.make_database("glance-manage", "--config-file", self.configuration, "db_sync")

    def image(self, name, data, disk_format="raw", **properties):
        """The id of a new, active image."""
        status, image = self.call("POST", "/v2/images", {
            "name": name, "disk_format": disk_format, "container_format": "bare", **properties})
        if status != 201:
            raise ServiceError(f"POST /v2/images: {status}")
        status, _ = self.call("PUT", f"/v2/images/{image['id']}/file", data,
                              "application/octet-stream")
        if status != 204:
            raise ServiceError(f"PUT /v2/images/{image['id']}/file: {status}")
        return image["id"]

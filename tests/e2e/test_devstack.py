"""
The devstack plugin: its phases write a configuration that the program accepts, and replace Cinder's
services. With devstack's own function library where SCORIA_DEVSTACK names a checkout, else with
doubles of the functions that the plugin calls (tests/lib/devstack_doubles.sh).
"""

import configparser
import os
import subprocess
import unittest

import program
from case import Workplace

RUN = os.path.join(program.REPOSITORY, "tests/lib/devstack.sh")
PHASES = ("stack install", "stack post-config", "stack extra", "stack test-config")


class Plugin(Workplace):
    def plugin(self, *phases, **settings):
        """The services that are enabled in the end."""
        done = subprocess.run(["bash", RUN, self.directory, *phases],
                              env={**os.environ, "SCORIA": program.BINARY, **settings},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.split()[-1].split(",")

    def ini(self, name):
        ini = configparser.RawConfigParser(strict=False)
        ini.read(os.path.join(self.directory, name))
        return ini

    def calls(self):
        with open(os.path.join(self.directory, "calls"), encoding="utf-8") as calls:
            return calls.read().splitlines()

    def assert_call(self, *words):
        self.assertTrue([call for call in self.calls() if all(word in call for word in words)],
                        f"{words} in {self.calls()}")

    def assert_exports(self, text):
        with open(f"{self.directory}/exports", encoding="ascii") as file:
            self.assertEqual(file.read(), text)

    def test_the_services_replace_those_of_cinder(self):
        enabled = self.plugin(*PHASES, SCORIA_BACKEND="file")
        self.assertEqual([name for name in enabled if name.startswith("c-")], [])
        self.assertLessEqual({"scoria-api", "scoria-manager", "scoria-agent"}, set(enabled))
        for role, service in (("api", "scoria-api"), ("manager", "scoria-manager"),
                              ("compute", "scoria-agent")):
            self.assert_call(f"run_process {service} {program.BINARY} {role} --config-file")
        self.assert_call("endpoint create", "block-storage", "http://192.0.2.5:8776/v3")
        self.assert_call("role add", "admin", "scoria")
        self.assert_call("volume type create", "scoria-1")
        self.assert_call("volume type create", "multiattach")
        nova = self.ini("nova.conf")
        self.assertEqual(nova["cinder"]["catalog_info"], "block-storage::publicURL")
        self.assertEqual(nova["cinder"]["username"], "nova")
        self.assertEqual(nova["service_user"]["send_service_user_token"], "True")
        tempest = self.ini("tempest.conf")
        self.assertEqual(tempest["service_available"]["cinder"], "True")
        self.assertEqual(tempest["volume-feature-enabled"]["extend_attached_volume"], "True")

    def test_files_are_connected_as_nova_takes_them(self):
        self.plugin(*PHASES, SCORIA_BACKEND="file")
        backend = self.ini("etc/scoria.conf")["scoria-1"]
        self.assertEqual((backend["volume_driver"], backend["file_connection_type"]),
                         ("file", "gpfs"))
        self.assertTrue(os.path.exists(f"{self.directory}/data/scoria/scoria.db"))
        self.assertEqual(os.stat(f"{self.directory}/etc").st_mode & 0o777, 0o750)

    def test_a_share_of_this_host_is_exported(self):
        self.plugin(*PHASES, SCORIA_BACKEND="nfs")
        scoria = self.ini("etc/scoria.conf")
        self.assertEqual(scoria["scoria-1"]["nas_share_path"], f"{self.directory}/export")
        self.assertEqual(scoria["compute"]["service"], "agent")
        self.assertEqual(scoria["keystone_authtoken"]["cafile"], f"{self.directory}/ca.pem")
        self.assert_call("sudo exportfs -ra")
        self.assert_call("start_service nfs-kernel-server")
        self.assert_exports(f"{self.directory}/export "
                            "192.0.2.5(rw,sync,no_subtree_check,no_root_squash)\n")

    def test_clean_removes_its_own_export_alone(self):
        other = f"{self.directory}/export 192.0.2.7(ro)\n"
        settings = {"SCORIA_BACKEND": "nfs", "SCORIA_NFS_CLIENTS": "192.0.2.5 192.0.2.6"}
        with open(f"{self.directory}/exports", "w", encoding="ascii") as file:
            file.write(other)
        self.plugin(*PHASES, **settings)
        options = "(rw,sync,no_subtree_check,no_root_squash)"
        self.assert_exports(
            f"{other}{self.directory}/export 192.0.2.5{options} 192.0.2.6{options}\n")
        self.plugin("clean", **settings)
        self.assert_exports(other)

    def test_a_share_of_another_machine_is_not(self):
        self.plugin(*PHASES, SCORIA_BACKEND="nfs", SCORIA_NFS_SERVER="False",
                    SCORIA_NFS_HOST="192.0.2.9")
        self.assertEqual(self.ini("etc/scoria.conf")["scoria-1"]["nas_host"], "192.0.2.9")
        self.assertFalse([call for call in self.calls() if "export" in call.split("/")[0]])

    def test_an_unknown_backend_ends_the_installation(self):
        with self.assertRaisesRegex(AssertionError, "must be file or nfs"):
            self.plugin(*PHASES, SCORIA_BACKEND="lvm")

    def test_a_compute_node_has_the_agent_alone(self):
        enabled = self.plugin("stack install", "stack post-config", "stack extra",
                              SCORIA_BACKEND="file", ENABLED_SERVICES="n-cpu",
                              SCORIA_TEST_DISABLED="scoria-api scoria-manager")
        self.assertNotIn("scoria-api", enabled)
        calls = self.calls()
        self.assertEqual([call.split()[1] for call in calls if call.startswith("run_process")],
                         ["scoria-agent"])

    def test_a_compute_node_exports_nothing(self):
        self.plugin("stack install", "stack post-config", "stack extra", SCORIA_BACKEND="nfs",
                    ENABLED_SERVICES="n-cpu", SCORIA_TEST_DISABLED="scoria-api scoria-manager")
        self.assertFalse(os.path.exists(f"{self.directory}/exports"))
        self.assertFalse([call for call in self.calls() if "nfs-kernel-server" in call])

    def test_unstack_and_clean_leave_nothing(self):
        self.plugin(*PHASES, SCORIA_BACKEND="file")
        self.plugin("unstack", "clean", SCORIA_BACKEND="file")
        self.assert_call("stop_process scoria-manager")
        self.assertFalse(os.path.exists(f"{self.directory}/etc"))
        self.assertFalse(os.path.exists(f"{self.directory}/data/scoria"))

    def test_a_share_that_is_still_mounted_keeps_its_volumes(self):
        """The manager was killed: the share is below its directory."""
        mount = f"{self.directory}/data/scoria/mnt/share"
        self.plugin(*PHASES, SCORIA_BACKEND="nfs")
        os.makedirs(mount)
        for phase in ("unstack", "clean"):
            with self.assertRaisesRegex(AssertionError, f"{mount} is still mounted"):
                self.plugin(phase, SCORIA_BACKEND="nfs", SCORIA_TEST_MOUNT=mount,
                            SCORIA_TEST_BUSY="1")
        self.assertTrue(os.path.exists(mount))
        self.plugin("unstack", "clean", SCORIA_BACKEND="nfs", SCORIA_TEST_MOUNT=mount)
        self.assert_call("sudo umount", mount)
        self.assertFalse(os.path.exists(mount))


if __name__ == "__main__":
    unittest.main()

"""
The CSI driver with topology: two backends with directories of two machines, and claims of pods that
may run on one of them, on both, or on neither.
"""

import os
import shutil
import tempfile
import uuid

import program
from case import GIB, ServiceCase
from csi_client import Code, Driver, Refused, capability, csi, of_volume, sizes

HOST, ZONE = "topology.csi.scoria.io/host", "topology.csi.scoria.io/zone"


def segments(host=None, zone=None):
    given = ((HOST, host), (ZONE, zone))
    return csi.Topology(segments={key: value for key, value in given if value})


def wanted(requisite=(), preferred=()):
    return csi.TopologyRequirement(requisite=requisite, preferred=preferred)


class Topology(ServiceCase):
    @classmethod
    def setUpClass(cls):
        cls.images = tempfile.mkdtemp(prefix="scoria-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.images, ignore_errors=True)
        cls.options = ("--enabled_backends=east,west",
                       "--east.volume_driver=file", "--east.backend_host=node-e",
                       f"--east.file_volume_directory={cls.images}/east",
                       "--west.volume_driver=file", "--west.backend_host=node-w",
                       f"--west.file_volume_directory={cls.images}/west")
        super().setUpClass()
        os.mkdir(os.path.join(cls.directory, "csi"))
        cls.both = cls.start_driver("both.sock", "host,zone=nova")
        cls.zones = cls.start_driver("zones.sock", "zone=nova,example.com/rack=7")
        cls.neither = cls.start_driver("neither.sock", "example.com/rack=7")

    @classmethod
    def start_driver(cls, name, topology):
        path = os.path.join(cls.directory, "csi", name)
        one = program.Program("csi", path + ".log", "--endpoint", f"unix://{path}", "--api",
                              cls.service.endpoint, "--csi.node_id=node-e",
                              f"--csi.topology={topology}",
                              f"--csi.kubelet_directory={path}.kubelet").start()
        cls.addClassCleanup(one.kill)
        driver = Driver(path)
        cls.addClassCleanup(driver.close)
        return driver

    def create(self, topology, driver=None, name=None, **fields):
        fields.setdefault("capacity_range", sizes(GIB))
        volume = (driver or self.both).controller(
            "CreateVolume", name=name or f"pvc-{uuid.uuid4()}", volume_capabilities=[capability()],
            accessibility_requirements=topology, **fields).volume
        self.addCleanup(self.both.controller, "DeleteVolume", volume_id=volume.volume_id)
        return volume

    def refuses(self, code, topology, **fields):
        name = f"pvc-{uuid.uuid4()}"
        with self.assertRaises(Refused) as caught:
            self.create(topology, name=name, **fields)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertEqual([row for row in self.api.list_all() if row["name"] == name], [])

    def host_of(self, volume):
        return self.api.show(volume.volume_id)["os-vol-host-attr:host"].partition("@")[0]

    def assert_on(self, volume, host):
        self.assertEqual(self.host_of(volume), host)
        self.assertEqual([dict(row.segments) for row in volume.accessible_topology],
                         [{HOST: host, ZONE: "nova"}])

    def test_a_node_reports_its_segment(self):
        for driver, expected in ((self.both, {HOST: "node-e", ZONE: "nova"}),
                                 (self.zones, {ZONE: "nova", "example.com/rack": "7"}),
                                 (self.neither, {"example.com/rack": "7"})):
            info = driver.node("NodeGetInfo")
            self.assertEqual(dict(info.accessible_topology.segments), expected)

    def test_segments_in_use_are_announced(self):
        constraints = csi.PluginCapability.Service.VOLUME_ACCESSIBILITY_CONSTRAINTS
        for driver, reports in ((self.both, True), (self.zones, True), (self.neither, False)):
            answer = driver.call(csi, "Identity", "GetPluginCapabilities")
            kinds = [row.service.type for row in answer.capabilities]
            self.assertEqual(constraints in kinds, reports)

    def test_a_volume_is_created_where_its_pod_may_run(self):
        east, west = segments("node-e", "nova"), segments("node-w", "nova")
        nowhere = segments("node-x", "nova")
        for topology, host in (
                (wanted([west]), "node-w"), (wanted([east]), "node-e"),
                (wanted([east, west], [west, east]), "node-w"),
                (wanted([nowhere, west], [nowhere, west]), "node-w"),
                (wanted(preferred=[nowhere, east]), "node-e"),
                (wanted([segments("node-w")]), "node-w")):
            with self.subTest(topology=topology):
                self.assert_on(self.create(topology), host)
        self.assertIn(self.host_of(self.create(wanted([segments(zone="nova")]))),
                      ("node-e", "node-w"))

    def test_nothing_is_created_in_a_segment_without_a_pool(self):
        for topology in (segments("node-x", "nova"), segments("node-e", "north"),
                         segments(zone="north")):
            with self.subTest(topology=topology):
                self.refuses(Code.RESOURCE_EXHAUSTED, wanted([topology]))
        self.refuses(Code.RESOURCE_EXHAUSTED, wanted([segments("node-e", "nova")]),
                     parameters={"availability": "north"})
        self.refuses(Code.RESOURCE_EXHAUSTED, wanted([segments("node-e", "nova")]),
                     capacity_range=sizes(1 << 55))
        self.refuses(Code.INVALID_ARGUMENT, wanted([segments("node-e", "nova")]),
                     parameters={"type": "there-is-none"})

    def test_a_name_has_one_volume_in_all_segments(self):
        name, west = f"pvc-{uuid.uuid4()}", wanted([segments("node-w", "nova")])
        volume = self.create(west, name=name)
        self.assertEqual(self.create(west, name=name).volume_id, volume.volume_id)
        with self.assertRaises(Refused) as caught:
            self.create(wanted([segments("node-e", "nova")]), name=name)
        self.assertEqual(caught.exception.code, Code.ALREADY_EXISTS)

    def test_a_clone_is_created_where_its_source_is(self):
        west = wanted([segments("node-w", "nova")])
        source = self.create(west)
        fields = {"volume_content_source": of_volume(source.volume_id)}
        self.assert_on(self.create(west, **fields), "node-w")
        self.refuses(Code.RESOURCE_EXHAUSTED, wanted([segments("node-e", "nova")]), **fields)

    def test_the_segment_is_reported_in_show_and_list(self):
        volume = self.create(wanted([segments("node-w", "nova")]))
        self.assert_on(self.both.controller("ControllerGetVolume",
                                            volume_id=volume.volume_id).volume, "node-w")
        rows = {row.volume.volume_id: row.volume
                for row in self.both.controller("ListVolumes").entries}
        self.assert_on(rows[volume.volume_id], "node-w")

    def test_only_relevant_segments_are_reported(self):
        volume = self.create(wanted([segments("node-w", "nova")]), self.zones)
        self.assertEqual([dict(row.segments) for row in volume.accessible_topology],
                         [{ZONE: "nova"}])
        volume = self.create(None, self.neither)
        self.assertEqual(list(volume.accessible_topology), [])

    def test_capacity_is_reported_for_each_segment(self):
        def space(**fields):
            return self.both.controller("GetCapacity", **fields).available_capacity
        east = space(accessible_topology=segments("node-e", "nova"))
        self.assertGreater(east, 0)
        self.assertEqual(space(accessible_topology=segments("node-x", "nova")), 0)
        self.assertEqual(space(accessible_topology=segments("node-e", "north")), 0)
        self.assertGreater(space(), east)

"""
The compute agent as a process of its own: killed, absent, without libvirt; and the whole service
killed while an extend is pending. Nothing is lost, and nothing pretends to have grown.
"""

import os
import time

import program
from block_storage import until
from case import DomainCase


def setUpModule():
    DomainCase.start_hypervisor()


def tearDownModule():
    DomainCase.stop_hypervisor()


class Agent(DomainCase):
    options = ("--compute_agent.enabled=false",)

    def start_daemons(self, volume_id, domain):
        self.daemons.start()
        until(lambda: domain.is_known(volume_id), 120, "the domain known again")

    def test_a_separate_agent_grows_a_disk(self):
        agent = self.start_agent()
        volume_id, domain = self.running()
        self.api.extend(volume_id, 2)
        self.assert_grown(volume_id, domain, 2)
        self.assertEqual(agent.stop(), 0)

    def test_a_killed_agent_resumes_its_extends(self):
        agent = self.start_agent()
        volume_id, domain = self.running()
        self.hold(volume_id, domain)
        self.api.extend(volume_id, 2)
        self.pending(volume_id, 2)
        agent.kill()
        domain.abort_copy(volume_id)
        self.pending(volume_id, 2)
        self.start_agent()
        self.assert_grown(volume_id, domain, 2)

    def test_an_agent_stopped_during_an_extend_leaves_it_to_the_next(self):
        agent = self.start_agent()
        volume_id, domain = self.running()
        usage = self.api.gigabytes()
        self.hold(volume_id, domain)
        self.api.extend(volume_id, 2)
        self.pending(volume_id, 2)
        begin = time.monotonic()
        self.assertEqual(agent.stop(), 0)
        self.assertLess(time.monotonic() - begin, 50)  # no operation is awaited, which takes 60
        self.pending(volume_id, 2)
        self.assertEqual(domain.capacity(volume_id), 1 << 30)
        domain.abort_copy(volume_id)
        agent = self.start_agent()
        self.assert_grown(volume_id, domain, 2)
        self.assertEqual(self.api.gigabytes(), {**usage, "in_use": usage["in_use"] + 1})
        self.assertEqual(agent.stop(), 0)

    def test_an_agent_may_stop_at_any_moment_of_an_extend(self):
        agent = self.start_agent()
        volume_id, domain = self.running()
        usage, size = self.api.gigabytes(), 1
        for pause_ms in (0, 2, 5, 10, 20, 40, 80, 160):
            self.api.extend(volume_id, size + 1)
            time.sleep(pause_ms / 1000)
            self.assertEqual(agent.stop(), 0)
            agent = self.start_agent()
            if self.end_of_extend(volume_id)["status"] == "in-use":
                size += 1
            else:  # it did not take the event any more
                self.api.reset(volume_id, "in-use")
            self.assert_volume(volume_id, "in-use", size)
            self.assertEqual(domain.capacity(volume_id), size << 30)
            self.assertEqual(self.api.gigabytes(), {**usage, "in_use": usage["in_use"] + size - 1})
        self.api.extend(volume_id, size + 1)
        self.assert_grown(volume_id, domain, size + 1)
        self.assertEqual(agent.stop(), 0)

    def test_an_unresponsive_agent_rolls_back(self):
        agent = self.start_agent()
        volume_id, domain = self.running()
        agent.kill()
        usage = self.api.gigabytes()
        self.api.extend(volume_id, 2)
        self.assert_refused(volume_id, 1, usage)
        self.api.reset(volume_id, "in-use")
        self.start_agent()
        self.api.extend(volume_id, 2)
        self.assert_grown(volume_id, domain, 2)

    def test_a_host_without_an_agent_rolls_back(self):
        self.start_agent()
        volume_id = self.volume()
        attachment = self.attach(volume_id, host="a-host-without-agent")
        self.domain(attachment).start()
        self.api.attach_complete(attachment["id"])
        usage = self.api.gigabytes()
        self.api.extend(volume_id, 2)
        self.assert_refused(volume_id, 1, usage)

    def test_libvirt_may_restart_during_an_extend(self):
        if not self.daemons.ours:
            self.skipTest("libvirtd was started by another program")
        self.start_agent()
        volume_id, domain = self.running()
        self.hold(volume_id, domain)
        self.api.extend(volume_id, 2)
        self.pending(volume_id, 2)
        self.daemons.halt()
        self.start_daemons(volume_id, domain)
        domain.abort_copy(volume_id)
        self.assert_grown(volume_id, domain, 2)

    def test_without_libvirt_the_agent_waits_for_it(self):
        if not self.daemons.ours:
            self.skipTest("libvirtd was started by another program")
        volume_id, domain = self.running()
        self.daemons.halt()
        self.addCleanup(self.daemons.start)
        self.start_agent()
        self.api.extend(volume_id, 2)
        self.start_daemons(volume_id, domain)
        volume = self.end_of_extend(volume_id)
        # An event that could not be checked in time is refused; an accepted one must be kept.
        grown = volume["status"] == "in-use"
        self.assertIn(volume["status"], ("in-use", "error_extending"))
        self.assertEqual(volume["size"], 2 if grown else 1)
        self.assertEqual(domain.capacity(volume_id), volume["size"] << 30)


class Whole(DomainCase):
    """`scoria serve` killed with an extend pending."""

    def restart(self):
        self.service.kill()
        self.service.start()
        self.api = self.connect()

    def test_a_pending_extend_completes_after_a_restart(self):
        volume_id, domain = self.running()
        self.hold(volume_id, domain)
        self.api.extend(volume_id, 2)
        self.pending(volume_id, 2)
        self.restart()
        self.pending(volume_id, 2)
        domain.abort_copy(volume_id)
        self.assert_grown(volume_id, domain, 2)

    def test_a_disk_that_grew_unobserved_counts(self):
        volume_id, domain = self.running()
        self.hold(volume_id, domain)
        self.api.extend(volume_id, 2)
        self.pending(volume_id, 2)
        self.service.kill()
        domain.abort_copy(volume_id)
        domain.resize(volume_id, 2 << 30)
        self.service.start()
        self.api = self.connect()
        self.assert_grown(volume_id, domain, 2)

    def test_a_kill_right_after_the_response_loses_no_extend(self):
        volume_id, domain = self.running()
        for size in range(2, 8):
            self.api.extend(volume_id, size)
            self.restart()
            self.assert_grown(volume_id, domain, size)

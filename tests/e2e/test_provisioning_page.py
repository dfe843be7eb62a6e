"""What a reader of docs/provisioning.md pastes does what it says: a declared volume's whole life."""

import os
import re
import unittest

from case import Workplace
from pages import paste


def healthy(table):
    return set(re.findall(r"^(\S+) +Healthy ", table, re.M))


class Page(Workplace):
    def test_what_is_pasted_works(self):
        place = os.path.join(self.directory, "declared")
        status, said = paste("provisioning.md", "From beginning to end", "/var/tmp/declared", place)
        self.assertEqual(status, 0, said)
        self.assertNotIn("verification failed", said)
        for was_read in ("67108864/67108864", "33554432/33554432"):
            self.assertIn(f"read {was_read} bytes at offset", said)
        self.assertIn("CStorVolume/db is Degraded\n", said)
        self.assertIn("\n2 GiB\n", said)
        self.assertEqual(healthy(said.rpartition("CStorVolumeConfig/db is Bound\n")[2]),
                         {"db-pool-b", "db-pool-c", "db-pool-d"})
        self.assertIn("CStorVolumeConfig/db is gone\n", said)
        self.assertIn("\n0 findings\n", said)
        self.assertEqual(re.findall(rf"^{place}/(\S+)$", said, re.M),
                         [f"pool-{pool}/scoria-pool" for pool in "abcd"])
        self.assertFalse(os.path.exists(place))


if __name__ == "__main__":
    unittest.main()

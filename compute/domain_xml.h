/*
 * Disks in a domain's XML, found by their serial.
 */
#pragma once

#include "compute/hypervisor.h"

/*
 * 1 found: target, source, format, read_only, discards, network of *ret are set, the rest stays; 0
 * none.  -1 (ERROR_BACKEND): several disks have the serial, or the text is no domain.
 */
int domain_xml_find_disk(const char *xml, const char *serial, struct disk *ret, struct error *err);

/*
 * 1 with the paths of the images that the disk is read through, the first is the one that is
 * written to, NULL ends them; 0 no disk has the serial, or it is not in files.
 */
int domain_xml_list_chain(const char *xml, const char *serial, struct arena *arena,
                          const char *const **ret, struct error *err);

/*
 * The disk's element, XML in the arena, without the images below `source`, which it writes to.  1;
 * or 0: no disk has the serial, it is in another file, or names no image below.
 */
int domain_xml_without_chain(const char *xml, const char *serial, const char *source,
                             struct arena *arena, const char **ret, struct error *err);

/* An export of an NBD server at a Unix socket; of the arena. */
struct disk_server {
    const char *socket, *export;
};

/*
 * Where the volume's disk of this target is served: 1; 0: there is no such disk, it has no UUID as
 * its serial, or is served otherwise.
 */
int domain_xml_find_server(const char *xml, const char *target, struct arena *arena,
                           struct disk_server *ret, struct error *err);

/* Puts the disks that have a UUID as their serial, with their limits, in front of the list. */
int domain_xml_list_limits(const char *xml, struct arena *arena, struct disk_limits **list,
                           struct error *err);

/*
 * What to ask libvirt for, XML in the arena: that the disks with these serials go on in their
 * overlays and all others stay as they are.  Each is named by its source, as what it is in.  1, or
 * 0: no disk has one of the serials.
 */
int domain_xml_snapshot(const char *xml, const struct disk_overlay *overlays, unsigned count,
                        struct arena *arena, const char **ret, struct error *err);

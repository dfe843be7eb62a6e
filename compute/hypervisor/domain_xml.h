/*
 * Disks in a domain's XML, found by the id of their volume: it is their serial number, or that is
 * another volume's and the id is in the name of their file (volume-ID, or volume-ID.* of a
 * snapshot).
 */
#pragma once

#include "compute/hypervisor/hypervisor.h"

/*
 * 1: found, and target, source, format, read_only, discards and network of *ret are set; 0: not
 * found. -1 (ERROR_BACKEND): several disks are the volume's, or the text is not a domain.
 */
int domain_xml_find_disk(const char *xml, const char *volume_id, struct disk *ret,
                         struct error *err);

/*
 * 1 with the paths of the disk's chain of images, the active one first, ended by NULL; 0: no disk
 * is the volume's, or it has no file.
 */
int domain_xml_list_chain(const char *xml, const char *volume_id, struct arena *arena,
                          const char *const **ret, struct error *err);

/*
 * The disk's XML element, in the arena, without the backing images of `source`, its active image.
 * 1; or 0: no disk is the volume's, its active image is another one, or it names no backing
 * image.
 */
int domain_xml_without_chain(const char *xml, const char *volume_id, const char *source,
                             struct arena *arena, const char **ret, struct error *err);

/* An export of an NBD server at a Unix socket; in the arena. */
struct disk_server {
    const char *socket, *export;
};

/*
 * The server of the volume's disk with this target: 1; 0: there is no such disk, its serial number
 * is not a UUID, or it has no such server.
 */
int domain_xml_find_server(const char *xml, const char *target, struct arena *arena,
                           struct disk_server *ret, struct error *err);

/* Prepends the disks that have a UUID as their serial number, with their limits, to the list. */
int domain_xml_list_limits(const char *xml, struct arena *arena, struct disk_limits **list,
                           struct error *err);

/*
 * XML, in the arena, of an external snapshot of the disks of these volumes (`serial` of each); all
 * other disks are excluded.  Each disk is named by its source, its expected active image.  1; 0: a
 * disk is missing.
 */
int domain_xml_snapshot(const char *xml, const struct disk_overlay *overlays, unsigned count,
                        struct arena *arena, const char **ret, struct error *err);

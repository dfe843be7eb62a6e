/*
 * QEMU's monitor of a guest, through libvirt.
 */
#pragma once

#include "compute/hypervisor/virt.h"

#include <jansson.h>

/* 0 with QEMU's result (ret may be NULL); 1: QEMU refuses; -1: no response. */
int monitor_query(const struct guest *guest, const char *command, const json_t **ret,
                  struct error *err);

/*
 * The entry of query-block for the device that libvirt calls by this alias; NULL: failed,
 * ERROR_CONFLICT when there is none.
 *
 * This and query-blockstats are safe at any time.  QEMU 7.2 crashes in query-named-block-nodes, and
 * so in virDomainGetBlockInfo(), between the end of a block job and its dismissal by libvirt.
 */
const json_t *monitor_find_block(const struct guest *guest, const char *alias, struct error *err);

/* QEMU writes the metadata of the device's image that it keeps in memory, and flushes its file.  It
 * does nothing else meanwhile, and does not report an error of the storage: that is the guest's at
 * its next flush.  0; -1, ERROR_CONFLICT when there is no such device. */
int monitor_flush_disk(const struct guest *guest, const char *alias, struct error *err);

/* The bytes of the disk in such an entry. */
int monitor_read_capacity(const json_t *block, int64_t *ret, struct error *err);

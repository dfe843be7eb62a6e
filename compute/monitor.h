/*
 * QEMU's monitor of a guest, through libvirt.
 */
#pragma once

#include "compute/virt.h"

#include <jansson.h>

/* 0 with QEMU's result (ret may be NULL); 1: QEMU refuses; -1: no response. */
int monitor_query(const struct guest *guest, const char *command, const json_t **ret,
                  struct error *err);

/* In the result of query-block: the device that libvirt calls by this alias; NULL: none. */
const json_t *monitor_find_block(const json_t *list, const char *alias);

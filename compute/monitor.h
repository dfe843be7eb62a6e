/*
 * QEMU's own monitor of a guest, behind libvirt's back.
 */
#pragma once

#include "compute/virt.h"

#include <jansson.h>

/* 0 with what QEMU returned (ret may be NULL), 1 QEMU refuses, -1 it was not asked or did not
 * answer. */
int monitor_ask(const struct guest *guest, const char *command, const json_t **ret,
                struct error *err);

/* Of what query-block has told: the device that libvirt calls by this alias; NULL: none. */
const json_t *monitor_find_block(const json_t *list, const char *alias);

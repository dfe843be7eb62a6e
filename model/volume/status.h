/*
 * The statuses of a volume: a table (status.def); they are written by operation/status.h.
 *
 * Operations write a status by volume_begin() and operation_leave() (operations.h); attach_status.c
 * writes those that follow from attachment rows; reset.c those requested by an operator.
 */
#pragma once

#include "operation/status.h"

enum volume_status {
#define STATUS(name, text, shown, kind, reset) VOLUME_##name,
#include "model/volume/status.def"
#undef STATUS
    VOLUME_STATUSES
};

/* A set of statuses. */
#define ST(name) ((uint64_t)1 << VOLUME_##name)

extern const struct object_kind volume_objects;

const char *status_text(enum volume_status status);
const char *status_shown(enum volume_status status);
bool status_is_transient(enum volume_status status);
bool status_may_be_reset_to(enum volume_status status);
int status_parse(const char *text, enum volume_status *ret); /* 0 or -1; exact lower case */

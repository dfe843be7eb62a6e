/*
 * The statuses of a volume and the operations that move it from one to another: two tables.
 *
 * volume_begin() and volume_finish() (volume.h) are the only functions that write a status on the
 * way of an operation; attach.c writes the statuses that follow from attachment rows; reset.c
 * writes what an operator asks for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum volume_status {
#define STATUS(name, text, shown, kind, reset) VOLUME_##name,
#include "volume/status.def"
#undef STATUS
    VOLUME_STATUSES
};

/* A set of statuses. */
#define ST(name) ((uint64_t)1 << VOLUME_##name)

enum operation_after_death {
    OPERATION_RESUME, /* another worker does it again: the work is repeatable */
    OPERATION_WAIT,   /* nobody works: the compute side answers, or the deadline decides */
};

struct operation_kind {
    const char *name;        /* "extend", as stored */
    const char *method;      /* of the message that starts it */
    uint64_t may_start_from; /* ST(…)|ST(…) */
    enum volume_status meanwhile;
    enum volume_status on_failure;
    enum operation_after_death after_death;
    const char *message_action; /* number of the user message's action, "007" */
};

enum {
    OPERATION_CREATE,
    OPERATION_DELETE,
    OPERATION_EXTEND,
    OPERATION_CONNECT,
    OPERATION_NOTIFY,
    OPERATION_KINDS
};
extern const struct operation_kind operation_kinds[OPERATION_KINDS];

const char *status_text(enum volume_status status);
const char *status_shown(enum volume_status status);
bool status_is_transient(enum volume_status status);
bool status_may_be_reset_to(enum volume_status status);
int status_parse(const char *text, enum volume_status *ret); /* 0 or -1; exact lower case */
const struct operation_kind *operation_kind_find(const char *name);

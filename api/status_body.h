/*
 * The body with which an operator says what the status of an object shall be.
 */
#pragma once

#include "json/field.h"

struct status_body {
    const char *status;
};

extern const struct field status_body_fields[];

/*
 * The body of a status reset by an operator.
 */
#pragma once

#include "json/field.h"

struct status_body {
    const char *status;
};

extern const struct field status_body_fields[];

#include "rest/status_body.h"

const struct field status_body_fields[] = {
    FIELD_TEXT(struct status_body, status, "status", FIELD_REQUIRED, 1, 255),
    FIELDS_END,
};

#include "model/attachment/connector.private.h"

#include "common/cleanup.h"
#include "common/utf8.h"

#include <string.h>

#define CONNECTOR_BYTES 8192 /* a host with sixteen ports of Fibre Channel needs 2,000 */
#define TEXT_CHARACTERS 255  /* of those that are shown again */

int connector_check(const json_t *connector, struct error *err) {
    static const char *const shown[] = { "host", "mountpoint", "mode" };

    for (size_t i = 0; i < LENGTH(shown); i++) {
        const char *text = json_string_value(json_object_get(connector, shown[i]));

        if (text && utf8_count(text, strlen(text)) > TEXT_CHARACTERS)
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid input for field/attribute connector: %s must be at most %d "
                             "characters long.",
                             shown[i], TEXT_CHARACTERS);
    }
    if (json_dumpb(connector, NULL, 0, JSON_COMPACT) > CONNECTOR_BYTES)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input for field/attribute connector: it must be at most %d bytes "
                         "long.",
                         CONNECTOR_BYTES);
    return 0;
}

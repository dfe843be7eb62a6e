#include "common/no_space.h"

#include "common/cleanup.h"

#include <string.h>

bool error_is_no_space(const struct error *err) {
    static const char *const texts[] = { "No space left", "Disk quota exceeded", " has no space" };

    for (size_t i = 0; i < LENGTH(texts); i++)
        if (strstr(err->message, texts[i]))
            return true;
    return false;
}

#include "rpc/amqp/recent.h"

#include <string.h>

void recent_put(struct recent *recent, const char *name, int64_t until_us) {
    size_t length = strlen(name);

    if (length == 0 || length >= RECENT_NAME)
        return;
    memcpy(recent->rows[recent->next].name, name, length + 1);
    recent->rows[recent->next].until_us = until_us;
    recent->next = (recent->next + 1) % RECENT_MOST;
}

bool recent_has(const struct recent *recent, const char *name, int64_t now_us) {
    for (unsigned i = 0; *name && i < RECENT_MOST; i++)
        if (strcmp(recent->rows[i].name, name) == 0 && now_us < recent->rows[i].until_us)
            return true;
    return false;
}

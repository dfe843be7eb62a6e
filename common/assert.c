#include "common/assert.h"

#include "common/log.h"

#include <stdio.h>
#include <stdlib.h>

void assert_failed(const char *condition, const char *file, int line, const char *function) {
    static _Thread_local bool failing; /* a condition of the log itself may have failed */

    if (!failing && log_is_open()) {
        failing = true;
        log_event_of(file, LOG_ERROR, NULL, "assertion failed", "condition", condition, "file",
                     file, "line", LOG_INT(line), "function", function, NULL);
    } else
        fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", file, line, function, condition);
    abort();
}

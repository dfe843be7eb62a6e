#include "operation/host.h"

#include <string.h>

char *host_backend(struct arena *arena, const char *host) {
    return host ? arena_text_n(arena, host, strcspn(host, "#")) : NULL;
}

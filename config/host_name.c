#include "config/host_name.h"

#include "config/option.h"

#include <string.h>

/* "#" begins the pool in the host of a volume. */
bool host_name_is_node(const char *text) {
    static const char characters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        "-._@:/+[]";
    size_t length = strlen(text);

    return length > 0 && length <= OPTION_HOST_MOST && strspn(text, characters) == length;
}

/* It is in the host of a volume, and in names of files. */
bool host_name_is_section(const char *text) {
    return *text && !strpbrk(text, "@#/, \t");
}

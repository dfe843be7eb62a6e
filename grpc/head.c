#include "grpc/head.private.h"

#include "common/cleanup.h"

#include <string.h>

#define TIMEOUT_DIGITS 8
#define CONTENT_TYPE   "application/grpc"
/* The longest wait of a thread: a longer timeout counts as none. */
#define LONGEST_US (INT64_C(365) * 24 * 3600 * SECOND_US)

/* "100m": at most eight digits and a unit. */
static void read_grpc_timeout(struct grpc_head *head, const char *text) {
    static const char units[] = "HMSmu";
    static const int64_t unit_us[] = { 3600 * SECOND_US, 60 * SECOND_US, SECOND_US, 1000, 1 };
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits;
    const char *known = *unit ? strchr(units, *unit) : NULL;
    int64_t value = 0;

    head->bad_timeout = true;
    if (digits == 0 || digits > TIMEOUT_DIGITS || !*unit || unit[1])
        return;
    for (size_t i = 0; i < digits; i++)
        value = value * 10 + (text[i] - '0');
    if (known)
        value *= unit_us[known - units];
    else if (*unit == 'n')
        value /= 1000;
    else
        return;
    head->bad_timeout = false;
    head->timeout_us = value < LONGEST_US ? value : LONGEST_US;
}

static void read_path(struct grpc_head *head, const char *value) {
    head->path = value;
}

static void read_method(struct grpc_head *head, const char *value) {
    head->post = strcmp(value, "POST") == 0;
}

/* "application/grpc", "application/grpc+proto", with or without parameters. */
static void read_content_type(struct grpc_head *head, const char *value) {
    size_t length = strlen(CONTENT_TYPE);

    if (strncmp(value, CONTENT_TYPE, length) != 0)
        return;
    value += length;
    if (strncmp(value, "+proto", 6) == 0)
        value += 6;
    head->grpc = *value == '\0' || *value == ';';
}

/* clang-format off */
static const struct {
    const char *name;
    void (*read)(struct grpc_head *head, const char *value);
} known[] = {
    { ":path", read_path },
    { ":method", read_method },
    { "content-type", read_content_type },
    { "grpc-timeout", read_grpc_timeout },
};
/* clang-format on */

bool grpc_head_add(struct grpc_head *head, struct arena *arena, const char *name, size_t name_size,
                   const char *value, size_t value_size) {
    head->size += name_size + value_size + GRPC_ENTRY_SIZE;
    if (head->size > GRPC_HEAD_MOST)
        return false;
    for (size_t i = 0; i < LENGTH(known); i++)
        if (strlen(known[i].name) == name_size && memcmp(known[i].name, name, name_size) == 0)
            known[i].read(head, arena_text_n(arena, value, value_size));
    return true;
}

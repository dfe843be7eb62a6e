/*
 * Any bytes as a policy file: loading refuses or accepts, and accepted rules decide every request.
 */
#include "common/cleanup.h"
#include "policy/check_parse.private.h"
#include "policy/rule.h"
#include "policy/rule_file.private.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void request_text(const uint8_t *data, size_t size) {
    static const char *const roles[] = { "member", NULL };
    const struct context context = { .user_id = "u", .project_id = "p", .roles = roles };
    const struct policy_target target = { .project_id = "p" };
    const struct check_question question = { &context, &target };
    autoarena struct arena *arena = arena_new();
    const struct check *check =
        check_parse(arena, arena_text_n(arena, (const char *)data, size), NULL);

    /* References have no tree before they are resolved: only the whole policy answers them. */
    if (check && !memmem(data, size, "rule:", 5))
        check_is_true(check, &question);
}

static void request_file(const uint8_t *data, size_t size) {
    static const char *const roles[] = { "member", NULL };
    const struct context context = { .user_id = "u", .project_id = "p", .roles = roles };
    struct policy *policy;
    struct error err;
    char path[32];
    autoclose int fd = memfd_create("policy", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (policy_load(&(struct policy_settings){ .file = path, .enforce_new_defaults = true },
                    &policy, &err) < 0)
        return;
    policy_allows(policy, "volume:extend", &context, NULL);
    policy_allows(policy, "admin_api", &context, NULL);
    policy_free(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    log_open(-1, LOG_ERROR, LOG_TEXT);
    request_text(data, size);
    request_file(data, size);
    return 0;
}

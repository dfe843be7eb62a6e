#include "cmd/awaited.h"

#include "json/json.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MEMBER_BEGINS "{."
#define MEMBER_ENDS   "}="

/* The text after a prefix; NULL: it has another one. */
static char *behind(char *text, const char *word) {
    size_t size = strlen(word);

    return strncmp(text, word, size) == 0 && text[size] ? text + size : NULL;
}

static bool read_member(char *text, struct awaited *ret) {
    char *end = strstr(text, MEMBER_ENDS);

    if (strncmp(text, MEMBER_BEGINS, strlen(MEMBER_BEGINS)) != 0 || !end)
        return false;
    *end = '\0';
    *ret = (struct awaited){ AWAITED_MEMBER, text + 1, end + strlen(MEMBER_ENDS) };
    return true;
}

int awaited_read(struct arena *arena, const char *text, struct awaited *ret, struct error *err) {
    static const char forms[] = "--for=phase=PHASE, --for=condition=TYPE[=STATUS], "
                                "--for=jsonpath={.PATH}=VALUE or --for=delete";
    char *kept = arena_text(arena, text), *rest;

    if (strcmp(kept, "delete") == 0)
        *ret = (struct awaited){ .kind = AWAITED_DELETE };
    else if ((rest = behind(kept, "phase=")))
        *ret = (struct awaited){ AWAITED_PHASE, rest, NULL };
    else if ((rest = behind(kept, "condition="))) {
        char *status = strchr(rest, '=');

        if (status)
            *status++ = '\0';
        *ret = (struct awaited){ AWAITED_CONDITION, rest, status ? status : "True" };
    } else if (!(rest = behind(kept, "jsonpath=")) || !read_member(rest, ret))
        return *text ? error_set(err, ERROR_BAD_REQUEST,
                                 "--for=%s: unknown condition (expected %s)", text, forms)
                     : error_set(err, ERROR_BAD_REQUEST, "no condition given: %s", forms);
    return 0;
}

const json_t *awaited_condition(const json_t *document, const char *type) {
    const json_t *list = json_at(document, "status.conditions");
    const json_t *found = NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_text_of(json_array_get(list, i), "type");

        if (!type || (name && strcmp(name, type) == 0))
            found = json_array_get(list, i);
    }
    return found;
}

static bool is_value(const json_t *found, const char *value) {
    char *text;
    bool same;

    if (json_is_string(found))
        return strcmp(json_string_value(found), value) == 0;
    text = found ? json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    same = text && strcmp(text, value) == 0;
    free(text);
    return same;
}

bool awaited_is_met(const struct awaited *awaited, const json_t *document) {
    if (!document || awaited->kind == AWAITED_DELETE)
        return !document && awaited->kind == AWAITED_DELETE;
    if (awaited->kind == AWAITED_CONDITION) {
        const char *status = json_text_of(awaited_condition(document, awaited->what), "status");

        return status && strcasecmp(status, awaited->value) == 0;
    }
    if (awaited->kind == AWAITED_MEMBER)
        return is_value(json_at(document, awaited->what + 1), awaited->value);
    return is_value(json_at(document, "status.phase"), awaited->what);
}

const char *awaited_text(struct arena *arena, const struct awaited *awaited) {
    if (awaited->kind == AWAITED_DELETE)
        return "gone";
    return awaited->value ? arena_join(arena, awaited->what, "=", awaited->value, NULL)
                          : awaited->what;
}

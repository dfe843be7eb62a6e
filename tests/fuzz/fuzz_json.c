/*
 * Any bytes: json_parse() and json_decode() refuse with a message or give a tree that json_out
 * writes back as the same tree; json_span_next() finds each item of a list, and an end in any text.
 */
#include "common/clock.h"
#include "common/utf8.h"
#include "json/json.h"
#include "json/out.h"
#include "json/span.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct body {
    const char *name1, *name0, *desc, *name_t, *host, *text, *uuid, *word;
    int64_t size, number;
    bool boolean;
    const json_t *meta, *meta_null, *specs, *long_meta, *object, *object_or_text, *list, *any;
};

static const char *const words[] = { "never", "on-demand", NULL };

/* clang-format off */
static const struct field fields[] = {
    FIELD_NAME1(struct body, name1, "name1", 0),
    FIELD_NAME0(struct body, name0, "name0", 0),
    FIELD_DESC(struct body, desc, "desc", 0),
    FIELD_NAMET(struct body, name_t, "nameT", FIELD_NOT_BLANK),
    FIELD_HOST(struct body, host, "host", 0),
    FIELD_TEXT(struct body, text, "text", 0, 2, 0),
    FIELD_UUID(struct body, uuid, "uuid", FIELD_NULLABLE),
    FIELD_WORD(struct body, word, "word", 0, words),
    FIELD_SIZE(struct body, size, "size", FIELD_REQUIRED),
    FIELD_INT(struct body, number, "int", 0, -1, 5),
    FIELD_BOOL(struct body, boolean, "bool", 0),
    FIELD_META(struct body, meta, "meta", 0),
    FIELD_META(struct body, meta_null, "metaN", FIELD_NULL_VALUES | FIELD_NULLABLE),
    FIELD_META(struct body, specs, "specs", FIELD_SPEC_KEYS | FIELD_NULL_VALUES),
    FIELD_META(struct body, long_meta, "long", FIELD_LONG_VALUES),
    FIELD_OBJECT(struct body, object, "object", 0),
    FIELD_OBJECT(struct body, object_or_text, "objtext", FIELD_OR_TEXT),
    FIELD_LIST(struct body, list, "list", 0, 1, 3),
    { .name = "any", .type = FIELD_TYPE_ANY, .offset = offsetof(struct body, any), .since = 13 },
    FIELDS_END
};
/* clang-format on */

static void require(bool condition) {
    if (!condition)
        abort();
}

static void require_message(const struct error *err) {
    require(err->kind == ERROR_BAD_REQUEST && err->message[0] != '\0');
    require(utf8_valid(err->message, strlen(err->message)));
}

static void require_text(const char *text, size_t most) {
    if (text)
        require(utf8_valid(text, strlen(text)) && utf8_count(text, strlen(text)) <= most);
}

static void decode(struct arena *arena, const json_t *tree, unsigned minor, bool strict) {
    struct body body = { 0 };
    struct error err = { 0 };

    if (json_decode(arena, tree, "body", fields, minor, strict, &body, &err) < 0) {
        require_message(&err);
        return;
    }
    require(body.size >= 1 && body.size <= FIELD_MAX_SIZE_GB);
    require(body.number >= -1 && body.number <= 5);
    require(!body.uuid || uuid_parse(body.uuid, NULL));
    require(minor >= 13 || !body.any);
    require_text(body.name1, 255);
    require_text(body.desc, 255);
    require_text(body.name_t, 255);
    require_text(body.host, 255);
}

static void write_and_read(struct arena *arena, const json_t *tree) {
    struct json_out out;
    struct error err = { 0 };
    const json_t *again;

    json_out_init(&out, arena, 0);
    out_value(&out, tree);
    again = json_parse(arena, json_out_text(&out), out.size, &err);
    require(again && json_equal(tree, again));
}

/* A list has as many pieces as items, and each piece is the text of its item. */
static void cut(struct arena *arena, const uint8_t *bytes, size_t size, const json_t *tree) {
    struct json_span rest = { (const char *)bytes, (const char *)bytes + size }, item;
    const char *end = rest.end;
    size_t count = 0;

    json_span_member(rest, "name1", &item);
    while (json_span_next(&rest, &item)) {
        require(item.begin <= item.end && item.end == rest.begin && rest.end == end);
        json_span_text(arena, item);
        count++;
    }
    require(!json_is_array(tree) || count == json_array_size(tree));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    autoarena struct arena *arena = arena_new();
    struct error err = { 0 };
    const json_t *tree = json_parse(arena, (const char *)bytes, size, &err);

    cut(arena, bytes, size, tree);
    if (!tree) {
        require_message(&err);
        return 0;
    }
    decode(arena, tree, 0, true);
    decode(arena, tree, 71, true);
    decode(arena, tree, 71, false);
    write_and_read(arena, tree);
    return 0;
}

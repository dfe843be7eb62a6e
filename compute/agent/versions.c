#include "compute/agent/versions.h"

#include "compute/agent/reply.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define STANDARD_HEADER "OpenStack-API-Version"
#define LEGACY_HEADER   "X-OpenStack-Nova-API-Version"
#define SERVICE         "compute"

/* One number without leading zeros, at most 9 digits, up to `end`. */
static bool read_number(const char **text, char end, unsigned *ret) {
    const char *start = *text;
    unsigned number = 0;

    while (isdigit((unsigned char)**text) && *text - start < 9)
        number = number * 10 + (unsigned)(*(*text)++ - '0');
    if (*text == start || **text != end || (*start == '0' && *text - start > 1))
        return false;
    *ret = number;
    return true;
}

static bool read_version(const char *text, struct compute_version *ret) {
    if (strcmp(text, "latest") == 0) {
        *ret = (struct compute_version){ 2, COMPUTE_NEWEST };
        return true;
    }
    if (!read_number(&text, '.', &ret->major) || ret->major == 0)
        return false;
    text++;
    return read_number(&text, '\0', &ret->minor);
}

/* The text after "compute " in a list such as "volume 3.71, compute 2.51"; NULL when absent. */
static const char *find_own(struct arena *arena, const char *list) {
    while (*list) {
        size_t length = strcspn(list, ",");
        const char *text = list + strspn(list, " \t");
        const char *end = list + length;

        while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
            end--;
        if ((size_t)(end - text) > strlen(SERVICE) &&
            strncasecmp(text, SERVICE " ", strlen(SERVICE) + 1) == 0) {
            text += strlen(SERVICE);
            text += strspn(text, " \t");
            return arena_text_n(arena, text, (size_t)(end - text));
        }
        list += length + (list[length] == ',');
    }
    return NULL;
}

int versions_negotiate(struct http_exchange *exchange, struct compute_version *ret,
                       struct error *err) {
    struct compute_version version = { 2, COMPUTE_LEAST };
    const char *standard = http_header(exchange, STANDARD_HEADER);
    const char *own = standard ? find_own(exchange->arena, standard) : NULL;
    const char *requested = own ? own : http_header(exchange, LEGACY_HEADER), *text;

    if (requested && !read_version(requested, &version))
        return error_set(err, ERROR_BAD_REQUEST,
                         "API Version String %.40s is of invalid format. Must be of format "
                         "MajorNum.MinorNum.",
                         requested);
    text = arena_format(exchange->arena, SERVICE " %u.%u", version.major, version.minor);
    http_add_header(exchange, STANDARD_HEADER, text);
    http_add_header(exchange, LEGACY_HEADER, text + strlen(SERVICE " "));
    http_add_header(exchange, "Vary", STANDARD_HEADER ", " LEGACY_HEADER);
    if (version.major != 2 || version.minor < COMPUTE_LEAST || version.minor > COMPUTE_NEWEST)
        return error_set(err, ERROR_NOT_ACCEPTABLE,
                         "Version %u.%u is not supported by the API. Minimum is 2.%d and maximum "
                         "is 2.%d.",
                         version.major, version.minor, COMPUTE_LEAST, COMPUTE_NEWEST);
    *ret = version;
    return 0;
}

/* The documents list the version without microversions too, because clients expect both. */
static const struct entry {
    const char *id, *status, *least, *newest, *updated, *path, *media_type;
} entries[] = {
    { "v2.0", "DEPRECATED", "", "", "2011-01-21T11:33:21Z", "/v2/",
      "application/vnd.openstack.compute+json;version=2" },
    { "v2.1", "CURRENT", "2.1", "2.93", "2013-07-23T11:33:21Z", "/v2.1/",
      "application/vnd.openstack.compute+json;version=2.1" },
};
#define NEWEST_ENTRY (&entries[1])

static const char *root_of(struct arena *arena, const char *own_url) {
    size_t length = http_length(own_url);

    if (length >= 5 && memcmp(own_url + length - 5, "/v2.1", 5) == 0)
        length -= 5;
    return arena_text_n(arena, own_url, length);
}

static void put_entry(struct json_out *out, const struct entry *entry, const char *root) {
    out_put_text(out, "id", entry->id);
    out_put_text(out, "status", entry->status);
    out_put_text(out, "version", entry->newest);
    out_put_text(out, "min_version", entry->least);
    out_put_text(out, "updated", entry->updated);
    out_open_array(out, "links");
    out_begin_object(out);
    out_put_text(out, "rel", "self");
    out_put_text(out, "href", arena_format(out->arena, "%s%s", root, entry->path));
    out_end_object(out);
    out_end_array(out);
}

void versions_reply_list(struct http_exchange *exchange, const char *own_url) {
    const char *root = root_of(exchange->arena, own_url);
    struct json_out out;

    json_out_begin(&out, exchange->arena, NULL);
    out_open_array(&out, "versions");
    for (const struct entry *entry = entries; entry <= NEWEST_ENTRY; entry++) {
        out_begin_object(&out);
        put_entry(&out, entry, root);
        out_end_object(&out);
    }
    out_end_array(&out);
    json_out_end(&out);
    reply_json(exchange, 200, &out);
}

void versions_reply_one(struct http_exchange *exchange, const char *own_url) {
    struct json_out out;

    json_out_begin(&out, exchange->arena, "version");
    put_entry(&out, NEWEST_ENTRY, root_of(exchange->arena, own_url));
    out_open_array(&out, "media-types");
    out_begin_object(&out);
    out_put_text(&out, "base", "application/json");
    out_put_text(&out, "type", NEWEST_ENTRY->media_type);
    out_end_object(&out);
    out_end_array(&out);
    json_out_end(&out);
    reply_json(exchange, 200, &out);
}

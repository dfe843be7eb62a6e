#include "rest/versions.h"

#include "rest/fault.h"
#include "rest/microversion.h"
#include "json/out.h"

#include <string.h>

#define SERVICE      "volume"
#define VERSION_MOST 32 /* characters; longer ones are not echoed */

#define TEXT_OF(number)      #number
#define VERSION_TEXT(minor_) "3." TEXT_OF(minor_)

/* Length of a number without leading zeros; 0 when there is none. */
static size_t number_length(const char *text, bool may_be_zero) {
    if (text[0] == '0')
        return may_be_zero;
    return strspn(text, "0123456789");
}

/* "major.minor" and nothing else. */
static bool text_is_version(const char *text) {
    size_t major = number_length(text, false);
    size_t minor;

    if (major == 0 || text[major] != '.')
        return false;
    minor = number_length(text + major + 1, true);
    return minor > 0 && text[major + 1 + minor] == '\0';
}

/* The minor number of a supported version, or -1. */
static int version_minor(const char *text) {
    unsigned minor = 0;

    if (strncmp(text, "3.", 2) != 0)
        return -1;
    for (text += 2; *text && minor <= MICROVERSION_NEWEST; text++)
        minor = minor * 10 + (unsigned)(*text - '0');
    return minor <= MICROVERSION_NEWEST ? (int)minor : -1;
}

/* The version in the first element about volumes: its second word.  "" when there is none, NULL
 * when no element matches. */
static const char *header_version(struct arena *arena, const char *header) {
    char *rest = arena_text(arena, header);

    while (rest) {
        char *element = strsep(&rest, ",");
        char *words = strstr(element, SERVICE);
        char *word;

        if (!words)
            continue;
        strsep(&words, " \t");
        while ((word = strsep(&words, " \t")))
            if (*word)
                return word;
        return "";
    }
    return NULL;
}

int version_negotiate(struct arena *arena, const char *header, struct version *ret,
                      struct error *err) {
    const char *text = header ? header_version(arena, header) : "3.0";
    int minor;

    *ret = (struct version){ .echo = NULL };
    if (!text)
        return error_set(err, ERROR_BAD_REQUEST, "%s has no element for %s.", VERSION_HEADER,
                         SERVICE);
    if (strcmp(text, "latest") == 0)
        text = VERSION_TEXT(MICROVERSION_NEWEST);
    if (strlen(text) > VERSION_MOST || !text_is_version(text))
        return error_set(err, ERROR_BAD_REQUEST,
                         "%s: '%.*s' is no version: it must be major.minor or latest.",
                         VERSION_HEADER, VERSION_MOST, text);
    if (strcmp(text, "1.0") != 0 && strcmp(text, "2.0") != 0)
        ret->echo = arena_join(arena, SERVICE, " ", text, NULL);
    minor = version_minor(text);
    if (minor < 0)
        return error_set(err, ERROR_NOT_ACCEPTABLE,
                         "Version %s is not supported: the lowest is 3.%d, the highest 3.%d.", text,
                         MICROVERSION_LEAST, MICROVERSION_NEWEST);
    ret->minor = (unsigned)minor;
    return 0;
}

static void put_link(struct json_out *out, const char *rel, const char *type, const char *href) {
    out_begin_object(out);
    out_put_text(out, "rel", rel);
    if (type)
        out_put_text(out, "type", type);
    out_put_text(out, "href", href);
    out_end_object(out);
}

void version_render(struct http_exchange *exchange, const char *base_url, int status) {
    struct json_out out;

    json_out_init(&out, exchange->arena, 1024);
    out_begin_object(&out);
    out_open_array(&out, "versions");
    out_begin_object(&out);
    out_put_text(&out, "id", "v3.0");
    out_put_text(&out, "status", "CURRENT");
    out_put_text(&out, "version", VERSION_TEXT(MICROVERSION_NEWEST));
    out_put_text(&out, "min_version", VERSION_TEXT(MICROVERSION_LEAST));
    out_put_text(&out, "updated", "2023-08-31T00:00:00Z");
    out_open_array(&out, "links");
    put_link(&out, "describedby", "text/html", "https://docs.openstack.org/");
    put_link(&out, "self", NULL, arena_format(exchange->arena, "%s/v3/", base_url));
    out_end_array(&out);
    out_open_array(&out, "media-types");
    out_begin_object(&out);
    out_put_text(&out, "base", MEDIA_TYPE);
    out_put_text(&out, "type", "application/vnd.openstack.volume+json;version=3");
    out_end_object(&out);
    out_end_array(&out);
    out_end_object(&out);
    out_end_array(&out);
    out_end_object(&out);
    exchange->status = status;
    exchange->reply_body = json_out_text(&out);
    exchange->reply_size = out.size;
    http_add_header(exchange, "Content-Type", fault_media_type(exchange));
}

#include "http/head.private.h"

#include "common/cleanup.h"
#include "common/scoria_headers.h"

#include <string.h>
#include <strings.h>

/* The fields that determine the end of a request and its target. */
struct framing {
    unsigned hosts, lengths, codings;
    bool chunked;
};

/* Fields that select what the service does: of two values, a proxy may have checked the other. */
static const struct single_field {
    const char *name, *fault;
    size_t size; /* of the name */
} single_fields[] = {
#define SINGLE(name) \
    { name, "There must be one " name ".", sizeof(name) - 1 }
    /* clang-format off */
    SINGLE(UNIQUE_HEADER),
    SINGLE(UNIQUE_HEADER_FORMER),
    SINGLE(EXTEND_HEADER),
    SINGLE(INCOMPLETE_HEADER),
    SINGLE(INSTANCE_HEADER),
    SINGLE(RETRY_HEADER),
    SINGLE(VOLUME_LIMIT_HEADER),
    SINGLE(VOLUME_LIMIT_HEADER_FORMER),
    SINGLE("Content-Type"),
    SINGLE("OpenStack-API-Version"),
    SINGLE("Origin"),
    SINGLE("Sec-Fetch-Site"),
    SINGLE("X-Auth-Key"),
    SINGLE("X-Auth-Project-Id"),
    SINGLE("X-Auth-Token"),
    SINGLE("X-Auth-User"),
    SINGLE("X-OpenStack-Nova-API-Version"),
    SINGLE("X-OpenStack-Request-ID"),
    SINGLE("X-Service-Roles"),
    SINGLE("X-Service-Token"),
    SINGLE("X-Storage-Token"),
    /* clang-format on */
};

struct walk {
    struct framing framing;
    unsigned singles; /* a bit for each of single_fields found */
    bool lies_as_sent;
    const char *at; /* where the next name must start */
    const char *fault;
};

bool http_head_lies_as_sent(void) {
    return strncmp(MHD_get_version(), "0.9.", 4) == 0;
}

static bool is_name(const char *text, size_t size) {
    static const char also[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < size; i++) {
        char c = text[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || (c != '\0' && strchr(also, c))))
            return false;
    }
    return size > 0;
}

/* No control characters; blanks and tabs only where allowed. */
static bool is_text(const char *text, size_t size, bool blanks) {
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == 0x7f || (c <= ' ' && !(blanks && (c == ' ' || c == '\t'))))
            return false;
    }
    return true;
}

#define IS(text, size, literal) \
    ((size) == sizeof(literal) - 1 && strncasecmp(text, literal, sizeof(literal) - 1) == 0)

static const char *single_fault(struct walk *walk, const char *name, size_t size) {
    for (size_t i = 0; i < LENGTH(single_fields); i++) {
        unsigned bit = 1U << i;

        if (size != single_fields[i].size || strncasecmp(name, single_fields[i].name, size) != 0)
            continue;
        if (walk->singles & bit)
            return single_fields[i].fault;
        walk->singles |= bit;
    }
    return NULL;
}

static enum MHD_Result look_at_field(void *arg, enum MHD_ValueKind kind, const char *name,
                                     size_t size, const char *value, size_t value_size) {
    struct walk *walk = arg;
    const char *behind = name + size + 1; /* the colon */

    (void)kind;
    if (!is_name(name, size))
        walk->fault = "The name of a header field is malformed.";
    else if (!value || !is_text(value, value_size, true))
        walk->fault = "The value of a header field has control characters.";
    /* Only blanks between the colon and the value, and the field directly after the last one. */
    else if (walk->lies_as_sent && (name != walk->at || value < behind ||
                                    !is_text(behind, (size_t)(value - behind), true)))
        walk->fault = "A line of the request's head is malformed.";
    else
        walk->fault = single_fault(walk, name, size);
    if (walk->fault)
        return MHD_NO;
    walk->at = value + value_size + 2; /* CRLF */
    if (IS(name, size, MHD_HTTP_HEADER_HOST)) {
        walk->framing.hosts++;
    } else if (IS(name, size, MHD_HTTP_HEADER_CONTENT_LENGTH)) {
        walk->framing.lengths++;
    } else if (IS(name, size, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
        walk->framing.codings++;
        walk->framing.chunked = IS(value, value_size, "chunked"); /* as libmicrohttpd compares it */
    }
    return MHD_YES;
}

static const char *framing_fault(const struct framing *framing, bool old) {
    if (framing->hosts > 1 || (framing->hosts == 0 && !old))
        return "There must be one Host.";
    if (framing->lengths + framing->codings > 1)
        return "The length of the request is ambiguous.";
    if (framing->codings == 1 && (old || !framing->chunked))
        return "The Transfer-Encoding is not supported.";
    return NULL;
}

const char *http_head_fault(const struct http_head *head, bool *ret_chunked) {
    struct walk walk = { .lies_as_sent = http_head_lies_as_sent(),
                         .at = head->version + strlen(head->version) + 2 };
    const union MHD_ConnectionInfo *info;

    if (!is_name(head->method, strlen(head->method)) ||
        !is_text(head->url, strlen(head->url), false) ||
        (walk.lies_as_sent && (head->url != head->method + strlen(head->method) + 1 ||
                               head->version != head->url + head->target + 1)))
        return "The request line is malformed.";
    MHD_get_connection_values_n(head->mhd, MHD_HEADER_KIND, look_at_field, &walk);
    if (!walk.fault && walk.lies_as_sent) {
        info = MHD_get_connection_info(head->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
        if (!info || head->method + info->header_size != walk.at + 2)
            walk.fault = "A line of the request's head is malformed.";
    }
    if (!walk.fault)
        walk.fault = framing_fault(&walk.framing, strcmp(head->version, "HTTP/1.0") == 0);
    *ret_chunked = walk.framing.codings > 0;
    return walk.fault;
}

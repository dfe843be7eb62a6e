#include "rest/accept.h"

#include "common/cleanup.h"
#include "json/out.h"

#include <string.h>
#include <strings.h>

#define JSON  "application/json"
#define HTML  "text/html"
#define PLAIN "text/plain"

/* Of "q=0.8", in thousandths; 1000 without. */
static int weight_of(const char *parameters, size_t size) {
    const char *q = memmem(parameters, size, "q=", 2);
    const char *end = parameters + size;
    int weight = 0, digit = 1000;

    if (!q)
        return 1000;
    for (q += 2; q < end && (*q == '.' || (*q >= '0' && *q <= '9')) && digit > 0; q++)
        if (*q != '.') {
            weight += (*q - '0') * digit;
            digit /= 10;
        }
    return weight;
}

/* Of one media type in the header's list; 0: absent. */
static int weight_in(const char *header, const char *type) {
    size_t length = strlen(type);

    while (*header) {
        size_t size;

        header += strspn(header, ", \t");
        size = strcspn(header, ",");
        if (size >= length && strncasecmp(header, type, length) == 0 &&
            (size == length || strchr("; \t", header[length])))
            return weight_of(header + length, size - length);
        header += size;
    }
    return 0;
}

const char *accept_best(const struct http_exchange *exchange, const char *const *offers) {
    const char *header = http_header(exchange, "Accept"), *best = NULL;
    int most = 0;

    for (; header && *offers; offers++) {
        int weight = weight_in(header, *offers);

        if (weight > most) {
            most = weight;
            best = *offers;
        }
    }
    return best;
}

void accept_render(struct http_exchange *exchange, int status, const char *title,
                   const char *sentence) {
    static const char *const offers[] = { HTML, JSON, NULL };
    const char *type = accept_best(exchange, offers);
    struct arena *arena = exchange->arena;

    exchange->status = status;
    if (!type)
        exchange->reply_body = arena_format(arena, "%s\n", sentence);
    else if (strcmp(type, JSON) == 0) {
        struct json_out out;

        json_out_init(&out, arena, 256);
        out_begin_object(&out);
        out_put_text(&out, "message", sentence);
        out_put_text(&out, "code", arena_format(arena, "%d %s", status, title));
        out_put_text(&out, "title", title);
        out_end_object(&out);
        exchange->reply_body = arena_text_n(arena, json_out_text(&out), out.size);
    } else
        exchange->reply_body =
            arena_format(arena, "<html><head><title>%d %s</title></head><body>%s</body></html>\n",
                         status, title, sentence);
    exchange->reply_size = strlen(exchange->reply_body);
    http_add_header(exchange, "Content-Type",
                    !type                     ? PLAIN "; charset=UTF-8"
                    : strcmp(type, JSON) == 0 ? JSON
                                              : HTML "; charset=UTF-8");
}

/*
 * Handlers that need only the row of their resource: lists and a plain show.
 */
#include "rest/page_read.h"
#include "rest/route.h"
#include "rest/shape.h"

#include <inttypes.h>
#include <string.h>

/* The conditions of the page.  Before the resource's lists supported queries, only the link to the
 * next page has the parameters. */
static int read_page(struct request *request, const struct resource *resource, struct page *ret,
                     struct error *err) {
    unsigned asked = request->query_count;
    int result;

    if (request->minor < resource->query_since)
        request->query_count = 0;
    result = page_read(request, resource, ret, err);
    request->query_count = asked;
    if (result < 0)
        return -1;
    return resource->narrow ? resource->narrow(request, ret, err) : 0;
}

#define PART 128 /* rows at a time, of lists that have parts */

struct listing {
    struct request *request;
    struct page *page;
    bool detail;
    unsigned shown;
};

static void put_row(struct request *request, const struct resource *resource, const void *row,
                    bool detail) {
    bool is_short = !detail && resource->short_shape;

    if (resource->view && !is_short)
        resource->view(request, row);
    else
        shape_put(request, is_short ? resource->short_shape : resource->shape, row, 0);
}

/* Of a page, or a part of one: are more wanted? */
static bool put_rows(void *arg, const void *rows, unsigned count) {
    struct listing *listing = arg;
    struct request *request = listing->request;
    const struct resource *resource = listing->page->resource;
    const char *row = rows;
    size_t most = resource->large ? request->work.settings->page_bytes : 0;

    for (unsigned i = 0; i < count; i++, row += resource->row_size) {
        size_t begin = request->out.size;

        /* a page that has reached its size: the rest comes with the next one */
        if (listing->shown > 0 && most > 0 && begin > most) {
            listing->page->cut = true;
            break;
        }
        put_row(request, resource, row, listing->detail);
        listing->page->last_id = resource_row_id(resource, row);
        if (listing->shown++ == 0) { /* the other rows are about as large as the first */
            size_t expected = count == PART ? (size_t)listing->page->limit : count;

            json_out_expect(&request->out, (expected + expected / 8) * (request->out.size - begin));
        }
    }
    listing->page->last_id = arena_text(request->work.arena, listing->page->last_id);
    return !listing->page->cut;
}

static int list(struct request *request, bool detail, struct error *err) {
    const struct resource *resource = request->route->resource;
    struct page page;
    struct listing listing = { request, &page, detail, 0 };
    int64_t total, version;
    int count;

    if (read_page(request, resource, &page, err) < 0)
        return -1;
    page.query.with_details = detail;
    page.query.bytes_most = resource->large ? request->work.settings->page_bytes : 0;
    page.query.cut = &page.cut;
    page.query.part = PART;
    page.query.put = put_rows;
    page.query.put_arg = &listing;
    out_begin_object(&request->out);
    out_key_text(&request->out, resource->plural);
    out_begin_array(&request->out);
    count = page.empty ? 0 : resource->list(request, &page, err);
    if (count < 0)
        return -1;
    total = count;
    if (resource->counted && page.with_count && !page.empty &&
        page_count(request, &page, &total, err) < 0)
        return -1;
    if (page.rows)
        put_rows(&listing, page.rows, (unsigned)count);
    out_end_array(&request->out);
    if (resource->links_word)
        page_put_links(request, &page, listing.shown, total, detail);
    if (resource->counted && page.with_count)
        out_put_int(&request->out, "count", total);
    if (resource->watch) {
        if (resource->version(&request->work, &version, err) < 0)
            return -1;
        out_open_object(&request->out, "metadata");
        out_put_text(&request->out, "resourceVersion", /* from which a watch continues */
                     arena_format(request->work.arena, "%" PRId64, version));
        out_end_object(&request->out);
    }
    out_end_object(&request->out);
    return 0;
}

int resource_list(struct request *request, struct error *err) {
    const struct resource *resource = request->route->resource;
    bool watches = false;

    if (resource->watch && request_flag(request, "watch", &watches, err) < 0)
        return -1;
    if (watches && strcmp(request->http->method, "HEAD") != 0) /* a HEAD is a list's */
        return resource->watch(request, err);
    return list(request, false, err);
}

int resource_list_detail(struct request *request, struct error *err) {
    return list(request, true, err);
}

int resource_show(struct request *request, struct error *err) {
    const struct resource *resource = request->route->resource;

    (void)err;
    out_begin_object(&request->out);
    out_key_text(&request->out, resource->name);
    put_row(request, resource, request->object, true);
    out_end_object(&request->out);
    return 0;
}

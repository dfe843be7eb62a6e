/*
 * What an object of an answer has: a table that shape_put() writes rows of C by, and the
 * description of the API (openapi.h) says the same answer by.
 *
 * A key is there from its microversion on, for callers who have its rights, when it has something
 * to say; the meaning of the bits of rights is the shape's own.
 */
#pragma once

#include "json/out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request;

enum shape_type {
    SHAPE_TEXT,   /* const char * */
    SHAPE_INT,    /* int64_t */
    SHAPE_BOOL,   /* bool */
    SHAPE_TIME,   /* int64_t: microseconds; 0 is null */
    SHAPE_PAIRS,  /* struct pairs: an object of texts or nulls */
    SHAPE_NULL,   /* null, always */
    SHAPE_OBJECT, /* of `of` */
    SHAPE_LIST,   /* objects of `of`; NULL: texts */
    SHAPE_ANY,    /* whatever somebody else has said */
};

enum shape_flags {
    SHAPE_NULLABLE = 1 << 0,
    SHAPE_MAYBE = 1 << 1,  /* not in every answer; keys with rights or has() are so anyhow */
    SHAPE_OTHERS = 1 << 2, /* stands for every other key: put() writes them with their values */
};

struct shape {
    const char *name; /* among the schemas of the description; NULL: told where it stands */
    const struct shape_key *keys;
};

struct shape_key {
    const char *name;        /* NULL ends the table */
    char text[OUT_KEY_ROOM]; /* see out_key_ready(); "" of SHAPE_OTHERS */
    size_t length;
    enum shape_type type;
    unsigned flags;
    unsigned since;  /* first minor microversion */
    unsigned rights; /* all of these bits */
    size_t offset;   /* of the member in the row */
    bool (*has)(const void *row);
    /* Writes the value; NULL: it is the member. */
    void (*put)(struct request *request, const void *row);
    const struct shape *of; /* of INT: an object may stand in its place */
};

/* clang-format off */
#define SHAPE_C_TEXT  const char *
#define SHAPE_C_INT   int64_t
#define SHAPE_C_BOOL  bool
#define SHAPE_C_TIME  int64_t
#define SHAPE_C_PAIRS struct pairs
/* A member of another type does not compile. */
#define SHAPE_OFFSET(record, member, type) \
    offsetof(record, member) + \
    0 * sizeof(_Generic(((record *)0)->member, SHAPE_C_##type: (char)0))

#define SHAPE_KEY(key_, type_) \
    .name = key_, .text = "\"" key_ "\":", .length = sizeof("\"" key_ "\":") - 1, \
    .type = SHAPE_##type_
/* The value is a member; what follows are further members of struct shape_key. */
#define SHAPE(record, member, key_, type_, ...) \
    { SHAPE_KEY(key_, type_), .offset = SHAPE_OFFSET(record, member, type_), __VA_ARGS__ }
/* The value is written by a function. */
#define SHAPE_BY(put_, key_, type_, ...) { SHAPE_KEY(key_, type_), .put = put_, __VA_ARGS__ }
/* The object or list is described here, and written by whom the answer belongs to. */
#define SHAPE_OF(shape_, key_, type_, ...) { SHAPE_KEY(key_, type_), .of = shape_, __VA_ARGS__ }
#define SHAPE_ELSE(type_, flags_, ...) \
    { .name = "", .type = SHAPE_##type_, .flags = SHAPE_OTHERS | (flags_), __VA_ARGS__ }
#define SHAPES_END { .name = NULL }
/* clang-format on */

/* The object of `row`; `rights` are request->rights meanwhile. */
void shape_put(struct request *request, const struct shape *shape, const void *row,
               unsigned rights);

/* put() of a list that has nothing in it, ever. */
void shape_no_items(struct request *request, const void *row);

/* Objects of texts or nulls, and of anything. */
extern const struct shape shape_pairs, shape_any;
/* {"rel": …, "href": …}: what request_links() writes, and the link to a next page. */
extern const struct shape shape_link;

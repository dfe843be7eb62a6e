/*
 * The list of NFS shares, as cinder's nfs_shares_config has it: one share a line,
 *
 *     address:/path [-o options]
 *
 * with '#' before comments, \040 for a blank in the path, an IPv6 address in brackets.  A bad line
 * refuses the whole file; the error has its number.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stddef.h>

struct share {
    const char *address; /* "host:/path": the volumes' provider_location */
    const char *options; /* of mount -o, commas between them, "" for none */
};

#define SHARES_MOST 1024

/* How many, or -1.  `name`: the file, in messages. */
int shares_parse(struct arena *arena, const char *text, size_t size, const char *name,
                 struct share **ret, struct error *err);
int shares_read(struct arena *arena, const char *path, struct share **ret, struct error *err);

/* Is it an address and an absolute path that leads nowhere else? 0 or -1. */
int share_check_address(const char *address, struct error *err);
/* "-o a,b", "a,b" or several of them become "a,b"; NULL with any other text. */
const char *share_parse_options(struct arena *arena, const char *text);

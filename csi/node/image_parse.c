/*
 * The image's description in the publish_context of a volume, validated like external input.
 */
#include "csi/node/image.h"

#include "common/cleanup.h"
#include "common/clock.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MOST        4096
#define LONGEST_SHARE     255
#define NAME_CHARACTERS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define OPTION_CHARACTERS NAME_CHARACTERS "=:,"

/* Options of nfs(5) that affect neither the image's locks nor other assumptions of the node. */
static const char *const share_options[] = {
    "vers",
    "nfsvers",
    "minorversion",
    "v3",
    "v4",
    "v4.0",
    "v4.1",
    "v4.2",
    "proto",
    "tcp",
    "rdma",
    "port",
    "mountport",
    "mountproto",
    "rsize",
    "wsize",
    "timeo",
    "retrans",
    "hard",
    "soft",
    "softerr",
    "nconnect",
    "sec",
    "lookupcache",
    "ac",
    "noac",
    "actimeo",
    "acregmin",
    "acregmax",
    "acdirmin",
    "acdirmax",
    "noatime",
    "relatime",
    "nodiratime",
    "nosuid",
    "nodev",
    "noexec",
    "rw",
    "async",
    "sync",
    "clientaddr",
    "resvport",
    "noresvport",
    "trunkdiscovery",
    "notrunkdiscovery",
    "max_connect",
    "retry",
};

static const char *context_find(const struct text_pair *context, size_t count, const char *key) {
    for (size_t i = count; i-- > 0;) /* of a repeated key the last one counts */
        if (strcmp(context[i].key, key) == 0)
            return context[i].value;
    return NULL;
}

static bool is_share_option(const char *option, size_t length) {
    length = strcspn(option, "=,") < length ? strcspn(option, "=,") : length;
    for (size_t i = 0; i < LENGTH(share_options); i++)
        if (strlen(share_options[i]) == length && memcmp(share_options[i], option, length) == 0)
            return true;
    return false;
}

/* "-o a,b", as the service formats it. */
static int parse_options(const char *text, const char **ret, struct error *err) {
    const char *options = strncmp(text, "-o ", 3) == 0 ? text + 3 : text;

    *ret = options;
    if (options[strspn(options, OPTION_CHARACTERS)])
        return error_set(err, ERROR_BAD_REQUEST, "The share's mount options are not a valid list.");
    while (*options) {
        size_t length = strcspn(options, ",");

        if (!is_share_option(options, length))
            return error_set(err, ERROR_PRECONDITION,
                             "The share's mount option %.*s is not supported by nodes.",
                             (int)(length < 64 ? length : 64), options);
        options += length + (options[length] == ',');
    }
    return 0;
}

static int parse_share(const struct text_pair *context, size_t count, struct node_image *ret,
                       struct error *err) {
    const char *options = context_find(context, count, "options");
    size_t length;
    const char *path;
    bool good;

    ret->share = context_find(context, count, "export");
    ret->name = context_find(context, count, "name");
    if (!ret->share)
        return error_set(err, ERROR_BAD_REQUEST, "export is missing.");
    /* address:/path, which cannot be read as an option of mount. */
    path = strstr(ret->share, ":/");
    good = path && path > ret->share && *ret->share != '-' && strlen(ret->share) <= LONGEST_SHARE &&
           !strstr(ret->share, "/../") && !strchr(ret->share, ',');
    for (const char *c = ret->share; *c; c++)
        good = good && (unsigned char)*c > ' ' && *c != 0x7f;
    if (!good)
        return error_set(err, ERROR_BAD_REQUEST, "export is not address:/path.");
    length = ret->name ? strlen(ret->name) : 0;
    if (length == 0 || length > NAME_MAX || ret->name[0] == '.' || ret->name[0] == '-' ||
        ret->name[strspn(ret->name, NAME_CHARACTERS)])
        return error_set(err, ERROR_BAD_REQUEST, "name is not a plain file name.");
    return parse_options(options ? options : "", &ret->options, err);
}

int node_image_parse(struct arena *arena, const struct text_pair *context, size_t count,
                     struct node_image *ret, struct error *err) {
    const char *type = context_find(context, count, "driver_volume_type");
    const char *mode = context_find(context, count, "access_mode");
    const char *discard = context_find(context, count, "discard");
    const char *format;
    const char *encrypted;

    *ret = (struct node_image){ .read_only = mode && strcmp(mode, "ro") == 0,
                                .keeps_blocks = discard && strcmp(discard, "false") == 0 };
    if (!type)
        return error_set(err, ERROR_BAD_REQUEST, "publish_context has no driver_volume_type.");
    /* Can the node attach this kind of image as a device? */
    format = context_find(context, count, "format");
    encrypted = context_find(context, count, "encrypted");
    if (!format)
        return error_set(err, ERROR_BAD_REQUEST, "format is missing.");
    if (strcmp(format, "raw") != 0)
        return error_set(err, ERROR_PRECONDITION,
                         "The volume's image is %.20s; nodes attach raw images only.", format);
    if (encrypted && strcasecmp(encrypted, "true") == 0)
        return error_set(err, ERROR_PRECONDITION, "The volume's image is encrypted.");
    if (strcmp(type, "replicated") == 0) {
        /* Blocks larger than a page are not supported on every device. */
        const char *target = context_find(context, count, "target");
        const char *size = context_find(context, count, "block_size");
        unsigned long bytes = size ? strtoul(size, NULL, 10) : 0;
        char uid[UUID_SIZE];

        if (!target || !uuid_parse(target, uid))
            return error_set(err, ERROR_BAD_REQUEST, "target is not the uid of a volume.");
        ret->target = arena_text(arena, uid);
        if (bytes & (bytes - 1))
            return error_set(err, ERROR_BAD_REQUEST, "block_size is not a power of two.");
        ret->block_size = bytes > BLOCK_MOST ? BLOCK_MOST : (unsigned)bytes;
        return 0;
    }
    if (strcmp(type, "nfs") == 0)
        return parse_share(context, count, ret, err);
    if (strcmp(type, "local") != 0 && strcmp(type, "gpfs") != 0)
        return error_set(err, ERROR_PRECONDITION, "Nodes attach no volumes of type %.40s.", type);
    ret->path = arena_text(arena, context_find(context, count, "device_path"));
    return ret->path ? 0 : error_set(err, ERROR_BAD_REQUEST, "device_path is missing.");
}

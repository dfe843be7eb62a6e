#include "cmd/parts.h"

#include "cmd/drivers.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/log.h"
#include "db/db.h"
#include "manager/runtime/manager.h"
#include "operation/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODE_MOST 256

const char *parts_machine(const struct config *config) {
    static char machine[NODE_MOST];
    const char *host = config_text(config, "DEFAULT", "host");

    if (host)
        return host;
    if (!*machine && (gethostname(machine, sizeof machine - 1) < 0 || !*machine))
        strcpy(machine, "localhost");
    return machine;
}

static char *node_path(const struct config *config) {
    const char *state = config_text(config, "DEFAULT", "state_path");
    size_t size = strlen(state) + sizeof "/host";
    char *path = heap_new(size);

    snprintf(path, size, "%s/host", state);
    return path;
}

/* The stored name; false: not a valid name. */
static bool node_read(const struct config *config, char ret[NODE_MOST]) {
    autofree char *path = node_path(config);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t size = fd < 0 ? -1 : read(fd, ret, NODE_MOST - 1);

    if (size <= 1 || ret[size - 1] != '\n')
        return false;
    ret[size - 1] = '\0';
    for (const char *at = ret; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == '@' || *at == '#')
            return false;
    return true;
}

/* Another database is shared: there a copied state directory must not provide a name. */
static bool node_is_kept(const struct config *config) {
    return !config_text(config, "DEFAULT", "host") &&
           !config_text(config, "database", "connection");
}

static char kept[NODE_MOST];

const char *parts_node(const struct config *config) {
    char name[NODE_MOST];

    if (!node_is_kept(config))
        return parts_machine(config);
    if (!*kept)
        strcpy(kept, node_read(config, name) ? name : parts_machine(config));
    return kept;
}

/* Root may rename the node of a service that runs as another user and must read the file. */
static int keep_owner(int fd, const char *path) {
    struct stat before;

    return geteuid() != 0 || stat(path, &before) < 0 ? 0 : fchown(fd, before.st_uid, before.st_gid);
}

static bool node_write(const char *path, const char *node) {
    autofree char *draft = heap_new(strlen(path) + sizeof ".draft");
    autoclose int fd = -1;

    sprintf(draft, "%s.draft", path);
    fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && keep_owner(fd, path) == 0 && dprintf(fd, "%s\n", node) > 0 && fsync(fd) == 0 &&
        rename(draft, path) == 0)
        return true;
    unlink(draft);
    return false;
}

struct nodes {
    char first[NODE_MOST];
    unsigned count;
};

static int nodes_body(struct db_tx *tx, void *arg, struct error *err) {
    autorows struct db_rows *rows = db_query(tx, err,
                                             "SELECT DISTINCT host FROM services "
                                             "WHERE binary_name = '" SERVICE_SCHEDULER "'");
    struct nodes *nodes = arg;
    int more = rows ? 0 : -1;

    while (rows && (more = db_next(rows, err)) > 0)
        if (nodes->count++ == 0)
            snprintf(nodes->first, sizeof nodes->first, "%s", db_text(rows, 0));
    return more;
}

void parts_keep_node(const struct config *config) {
    autofree char *path = node_path(config);
    char before[NODE_MOST];
    const char *node;

    if (node_is_kept(config) && access(path, F_OK) < 0) {
        /* Without the file (the previous program had none) the only node in the database, if there
         * is one, keeps its name, regardless of the machine's current name. */
        struct nodes nodes = { .count = 0 };
        struct error err = { .kind = ERROR_NONE };
        struct db *db;

        if (parts_open_db_as(config, DB_LOOKS, &db, &err) >= 0) {
            if (db_read(db, nodes_body, &nodes, &err) == 0 && nodes.count == 1)
                strcpy(kept, nodes.first);
            db_close(db);
        }
    }
    node = parts_node(config);
    if (node_is_kept(config) && strcmp(node, parts_machine(config)) != 0)
        log_info(NULL, "host keeps its name", "host", node, "machine", parts_machine(config),
                 "file", path, NULL);
    if (node_read(config, before) && strcmp(before, node) == 0)
        return;
    /* on a full disk, for example, the service continues without it */
    if (!node_write(path, node))
        log_warning(NULL, "cannot store the name of the host", "file", path, "reason",
                    strerror(errno), NULL);
}

int parts_rename_node(const struct config *config, const char *old_node, const char *new_node,
                      struct error *err) {
    autofree char *path = node_path(config);
    char before[NODE_MOST];

    if (!node_is_kept(config) || !node_read(config, before) || strcmp(before, old_node) != 0)
        return 0;
    return node_write(path, new_node)
               ? 1
               : error_errno(err, ERROR_UNAVAILABLE,
                             "The rows are renamed, but %s is not: write %s into it", path,
                             new_node);
}

/* Hypervisors run guests as other users, which must reach the images; the directory cannot be
 * listed or read by others. */
int parts_make_directories(const char *path, struct error *err) {
    autofree char *part = heap_text(path);

    for (char *c = part + 1;; c++) {
        bool end = *c == '\0';

        if (*c != '/' && !end)
            continue;
        *c = '\0';
        if (mkdir(part, 0711) < 0 && errno != EEXIST &&
            !(errno == EROFS && access(part, F_OK) == 0))
            return error_errno(err, ERROR_BAD_REQUEST, "directory %s: cannot make %s", path, part);
        if (end)
            return 0;
        *c = '/';
    }
}

#define STATE_OPTION "--state-dir, or state_path of [DEFAULT]"
#define STATE        STATE_OPTION ": "

int parts_make_state_directory(const struct config *config, struct error *err) {
    const char *path = config_text(config, "DEFAULT", "state_path");
    struct stat info;

    if (*path != '/')
        return error_set(err, ERROR_BAD_REQUEST, STATE "%s is not an absolute path", path);
    if (parts_make_directories(path, err) < 0)
        return error_context(err, STATE_OPTION);
    if (stat(path, &info) < 0 || !S_ISDIR(info.st_mode))
        return error_set(err, ERROR_BAD_REQUEST, STATE "%s is not a directory", path);
    if (access(path, W_OK) < 0)
        return error_errno(err, ERROR_BAD_REQUEST, STATE "%s cannot be written", path);
    return 0;
}

static int open_db(const struct config *config, struct db_settings *settings, struct db **ret,
                   struct error *err) {
    const char *state = config_text(config, "DEFAULT", "state_path");
    const char *url = config_text(config, "database", "connection");
    autoarena struct arena *arena = arena_new();

    config_fill(config, NULL, database_options, settings);
    settings->url = url ? url : arena_format(arena, "sqlite://%s/scoria.db", state);
    if (settings->access == DB_SERVES && parts_make_state_directory(config, err) < 0)
        return -1;
    if (db_open(settings, ret, err) == 0)
        return 0;
    if (url)
        return error_context(err, "[database] connection");
    if (settings->access != DB_SERVES && err->kind == ERROR_NOT_FOUND)
        return error_set(err, ERROR_NOT_FOUND,
                         "There is no database in %s: --state-dir or --config-file names the "
                         "state directory of a service.",
                         state);
    return -1;
}

int parts_db_context(const struct config *config, struct error *err) {
    return config_text(config, "database", "connection")
               ? error_context(err, "[database] connection")
               : error_context(err, "database %s/scoria.db",
                               config_text(config, "DEFAULT", "state_path"));
}

int parts_open_db(const struct config *config, bool inline_writes, struct db **ret,
                  struct error *err) {
    struct db_settings settings = { .inline_writes = inline_writes };

    return open_db(config, &settings, ret, err);
}

int parts_open_db_as(const struct config *config, enum db_access access, struct db **ret,
                     struct error *err) {
    struct db_settings settings = { .inline_writes = true, .access = access };

    return open_db(config, &settings, ret, err);
}

static int find_backend(const struct config *config, const char *name, struct manager_backend *ret,
                        struct error *err) {
    const char *driver_name = config_text(config, name, "volume_driver");
    const char *backend_name = config_text(config, name, "volume_backend_name");
    const char *node = config_text(config, "storage", "node");

    *ret = (struct manager_backend){
        .name = name,
        .host_name = config_text(config, name, "backend_host"),
        .backend_name = backend_name ? backend_name : name,
        .reports_discard = config_bool(config, name, "report_discard_supported"),
        .image_cache = { config_bool(config, name, "image_volume_cache_enabled"),
                         config_int(config, name, "image_volume_cache_max_size_gb"),
                         config_int(config, name, "image_volume_cache_max_count") },
        .clones_uploads = config_bool(config, name, "image_upload_use_cinder_backend"),
        .uploads_internal = config_bool(config, name, "image_upload_use_internal_tenant"),
        .driver = driver_find(drivers, driver_name),
        .settings = {
            .for_nova = strcmp(config_text(config, "compute", "service"), "nova") == 0,
            .drivers = drivers,
            .name = name,
            .config = config,
            .state_directory = config_text(config, "DEFAULT", "state_path"),
            .node = node ? node : parts_node(config),
        },
    };
    if (!ret->driver)
        return error_set(err, ERROR_BAD_REQUEST,
                         "[%s] volume_driver: there is no driver \"%s\"; did you mean \"%s\"?",
                         name, driver_name, driver_nearest(drivers, driver_name));
    return 0;
}

int parts_find_backends(const struct config *config, struct manager_backend **ret,
                        struct error *err) {
    autofree struct manager_backend *backends = NULL;
    size_t count = 0;

    while (config_item(config, "DEFAULT", "enabled_backends", count))
        count++;
    if (count == 0)
        return error_set(err, ERROR_BAD_REQUEST, "[DEFAULT] enabled_backends names no backend");
    backends = heap_new((count + 1) * sizeof *backends);
    for (size_t i = 0; i < count; i++)
        if (find_backend(config, config_item(config, "DEFAULT", "enabled_backends", i),
                         &backends[i], err) < 0)
            return -1;
    *ret = take(backends);
    return 0;
}

#include "model/host_rename.h"

#include "common/cleanup.h"
#include "common/words.h"
#include "config/host_name.h"
#include "config/option.h"
#include "model/scheduler/pool.h"
#include "operation/host.h"
#include "operation/query.h"

#include <string.h>

#define NAME_MOST 255

/* ---- hosts without a manager ---- */

#define BELOW(column) column " >= s.host || '#' AND " column " < s.host || '$'"

static int read_unserved(struct work *work, const struct db_rows *rows, void *ret,
                         struct error *err) {
    (void)err;
    *(struct unserved_host *)ret = (struct unserved_host){
        .host = db_copy(rows, 0, work->arena),
        .reported_at = work_shown(work, db_int(rows, 1)),
        .volumes = db_int(rows, 2),
        .groups = db_int(rows, 3),
        .operations = db_int(rows, 4),
    };
    return 0;
}

int host_unserved(struct work *work, const char *const *served, struct unserved_host **ret,
                  struct error *err) {
    struct db_rows *rows = db_query(
        work->tx, err,
        "SELECT s.host, s.reported_at, "
        "(SELECT COUNT(*) FROM volumes v WHERE " BELOW(
            "v.host") "), "
                      "(SELECT COUNT(*) FROM volume_groups g WHERE " BELOW(
                          "g.host") "), "
                                    "(SELECT COUNT(*) FROM operations o WHERE o.host = s.host OR (" BELOW(
                                        "o.host") ")) "
                                                  "FROM services s WHERE s.binary_name = '" SERVICE_VOLUME
                                                  "' AND s.reported_at < $1 "
                                                  "ORDER BY s.host",
        DB_INT(work->clock_us - work->settings->service_down_s * SECOND_US));
    int all = query_all(work, rows, read_unserved, ret, err), count = 0;

    for (int i = 0; i < all; i++) {
        struct unserved_host *host = &(*ret)[i];

        if (host->volumes + host->groups + host->operations > 0 &&
            !words_list_has(served, host->host))
            (*ret)[count++] = *host;
    }
    return all < 0 ? -1 : count;
}

/* ---- rename ---- */

/* The columns with host names, and the text before the name there. */
struct place {
    const char *table, *column, *prefix;
};

/* The range of names that begin with the old one and its end character, but for those of nodes with
 * a longer name. */
struct range {
    const char *name, *first, *end, *prefix, *replacement;
    int64_t rest; /* first character after the old name, from 1 on */
};

/* Of UTF-8, as substr() counts them. */
static int64_t count_characters(const char *text) {
    int64_t count = 0;

    for (; *text; text++)
        count += (*text & 0xc0) != 0x80;
    return count;
}

enum form { NODE, BACKEND, POOL };

/* An old node may have '#' in it, one of today only '@'. */
static enum form form_of(const char *name) {
    const char *backend = strchr(name, '@');

    return !backend ? NODE : strchr(backend, '#') ? POOL : BACKEND;
}

/* The new name has no '#' in its node, so that its form is that of both.  The character after such
 * a name: none after a pool. */
static char end_of(const struct host_rename *rename) {
    static const char ends[] = { [NODE] = '@', [BACKEND] = '#', [POOL] = '\0' };

    return ends[form_of(rename->new_name)];
}

static struct range range_of(struct arena *arena, const struct host_rename *rename,
                             const char *prefix) {
    char end = end_of(rename);
    const char *name = arena_join(arena, prefix, rename->old_name, NULL);

    return (struct range){
        .name = name,
        .first = end ? arena_format(arena, "%s%c", name, end) : name,
        .end = end ? arena_format(arena, "%s%c", name, end + 1) : name,
        .prefix = prefix,
        .replacement = arena_join(arena, prefix, rename->new_name, NULL),
        .rest = count_characters(name) + 1,
    };
}

#define OLD_VALUES(range) \
    DB_TEXT((range).name), DB_TEXT((range).first), DB_TEXT((range).end), DB_TEXT((range).prefix)
#define RANGE_VALUES(range) OLD_VALUES(range), DB_TEXT((range).replacement), DB_INT((range).rest)

/* Columns have the name of their table in front.  Each node that had a manager has a row of the
 * scheduler: "a@x@b" is below node "a@x" if that has one, and not below "a". */
static const char *below_old(struct arena *arena, const char *column) {
    return arena_format(
        arena,
        "(%s >= $2 AND %s < $3 AND NOT EXISTS (SELECT 1 FROM services l WHERE "
        "l.binary_name = '" SERVICE_SCHEDULER "' AND $4 || l.host || '@' > $2 AND "
        "$4 || l.host || '@' < $3 AND %s >= $4 || l.host || '@' AND %s < $4 || l.host || 'A'))",
        column, column, column, column);
}

static const char *names_old(struct arena *arena, const char *column) {
    return arena_format(arena, "(%s = $1 OR %s)", column, below_old(arena, column));
}

static const char *new_of(struct arena *arena, const char *column) {
    return arena_format(arena, "$5 || substr(%s, CAST($6 AS INTEGER))", column);
}

static const char *names_old_at(struct arena *arena, const struct place *place) {
    return names_old(arena, arena_join(arena, place->table, ".", place->column, NULL));
}

/* A node's own service is its scheduler, which has the name of the node. */
static const char *services_old(struct arena *arena, const struct host_rename *rename) {
    return arena_format(arena,
                        "(services.binary_name = '%s' AND services.host = $1 OR "
                        "services.binary_name = '" SERVICE_VOLUME "' AND %s)",
                        form_of(rename->new_name) == NODE ? SERVICE_SCHEDULER : SERVICE_VOLUME,
                        below_old(arena, "services.host"));
}

static int count_at(struct work *work, const struct place *place, const struct host_rename *rename,
                    int64_t *ret, struct error *err) {
    const struct range range = range_of(work->arena, rename, place->prefix);

    return db_query_int(work->tx, ret, err,
                        arena_format(work->arena, "SELECT COUNT(*) FROM %s WHERE %s", place->table,
                                     names_old_at(work->arena, place)),
                        OLD_VALUES(range)) < 0
               ? -1
               : 0;
}

static int rename_at(struct work *work, const struct place *place, const struct host_rename *rename,
                     struct error *err) {
    const struct range range = range_of(work->arena, rename, place->prefix);

    return db_change(work->tx, err,
                     arena_format(work->arena, "UPDATE %s SET %s = %s WHERE %s", place->table,
                                  place->column, new_of(work->arena, place->column),
                                  names_old_at(work->arena, place)),
                     RANGE_VALUES(range));
}

/* The counts of the old pools are added to new ones that their manager has reported already. */
static int rename_pools(struct work *work, const struct host_rename *rename, struct error *err) {
    static const struct place name = { "pools", "name", "" };
    const struct range range = range_of(work->arena, rename, "");
    const char *of_old = names_old(work->arena, "o.name"),
               *new_name = new_of(work->arena, "o.name");

    if (db_run(work->tx, err,
               arena_format(work->arena,
                            "UPDATE pools SET allocated_gb = allocated_gb + (SELECT o.allocated_gb "
                            "FROM pools o WHERE %s AND %s = pools.name), "
                            "snapshots_gb = snapshots_gb + (SELECT o.snapshots_gb "
                            "FROM pools o WHERE %s AND %s = pools.name) "
                            "WHERE name IN (SELECT %s FROM pools o WHERE %s)",
                            of_old, new_name, of_old, new_name, new_name, of_old),
               RANGE_VALUES(range)) < 0 ||
        db_run(work->tx, err,
               arena_format(
                   work->arena, "DELETE FROM pools WHERE %s AND %s IN (SELECT n.name FROM pools n)",
                   names_old(work->arena, "pools.name"), new_of(work->arena, "pools.name")),
               RANGE_VALUES(range)) < 0 ||
        rename_at(work, &name, rename, err) < 0)
        return -1;
    if (end_of(rename) == '\0')
        return 0;
    return rename_at(work, &(const struct place){ "pools", "host", "" }, rename, err);
}

/* A new one that has reported keeps its own row. */
static int rename_services(struct work *work, const struct host_rename *rename, struct error *err) {
    const struct range range = range_of(work->arena, rename, "");

    if (end_of(rename) == '\0')
        return 0;
    if (db_run(work->tx, err,
               arena_format(work->arena,
                            "DELETE FROM services WHERE %s AND EXISTS (SELECT 1 FROM services n "
                            "WHERE n.binary_name = services.binary_name AND n.host = %s)",
                            services_old(work->arena, rename),
                            new_of(work->arena, "services.host")),
               RANGE_VALUES(range)) < 0)
        return -1;
    return db_change(work->tx, err,
                     arena_format(work->arena, "UPDATE services SET host = %s WHERE %s",
                                  new_of(work->arena, "host"), services_old(work->arena, rename)),
                     RANGE_VALUES(range));
}

static const struct place volumes = { "volumes", "host", "" };
static const struct place groups = { "volume_groups", "host", "" };
static const struct place operations = { "operations", "host", "" };
/* Both queues of a backend (operation_topic()). */
static const struct place messages[] = { { "outbox", "topic", SERVICE_VOLUME "." },
                                         { "outbox", "topic", SERVICE_VOLUME "-long." } };
static const struct place pools = { "pools", "name", "" };

static int count_all(struct work *work, struct host_rename *rename, struct error *err) {
    const struct range range = range_of(work->arena, rename, "");

    rename->messages = rename->services = 0;
    if (count_at(work, &volumes, rename, &rename->volumes, err) < 0 ||
        count_at(work, &groups, rename, &rename->groups, err) < 0 ||
        count_at(work, &operations, rename, &rename->operations, err) < 0)
        return -1;
    for (size_t i = 0; i < LENGTH(messages); i++) {
        int64_t count = 0;

        if (count_at(work, &messages[i], rename, &count, err) < 0)
            return -1;
        rename->messages += count;
    }
    if (count_at(work, &pools, rename, &rename->pools, err) < 0 ||
        (end_of(rename) != '\0' &&
         db_query_int(work->tx, &rename->services, err,
                      arena_format(work->arena, "SELECT COUNT(*) FROM services WHERE %s",
                                   services_old(work->arena, rename)),
                      OLD_VALUES(range)) < 0))
        return -1;
    if (rename->volumes + rename->groups + rename->operations + rename->messages + rename->pools +
            rename->services ==
        0)
        return error_set(err, ERROR_NOT_FOUND, "Nothing has the host %s.", rename->old_name);
    return 0;
}

/* ---- conditions ---- */

static int check_new_name(const char *name, struct error *err) {
    size_t length = strlen(name);
    const char *backend = strchr(name, '@'), *pool = strchr(name, '#');
    bool odd = length == 0 || length > NAME_MOST || backend == name || pool == name ||
               name[length - 1] == '@' || name[length - 1] == '#' ||
               (pool && (!backend || backend > pool || pool == backend + 1));

    for (const char *at = name; *at; at++)
        odd |= (unsigned char)*at <= ' ' || *at == 127;
    return odd ? error_set(err, ERROR_BAD_REQUEST,
                           "The new name \"%s\" is no NODE, NODE@BACKEND or NODE@BACKEND#POOL.",
                           name)
               : 0;
}

/* A manager serves it by its options. A pool's backend stays as it is. */
static int check_parts(struct arena *arena, const char *name, struct error *err) {
    const char *section = strrchr(name, '@'), *node = name;

    if (form_of(name) == POOL)
        return 0;
    if (section)
        node = arena_text_n(arena, name, (size_t)(section - name));
    if (!host_name_is_node(node))
        return error_set(err, ERROR_BAD_REQUEST,
                         "The new name \"%s\" is none that the option host accepts: a node has 1 "
                         "to %d letters, digits and -._@:/+[].",
                         node, OPTION_HOST_MOST);
    if (section && !host_name_is_section(section + 1))
        return error_set(err, ERROR_BAD_REQUEST,
                         "The new name \"%s\" is none of a section: a backend has no \"@\", \"#\", "
                         "\"/\", comma or blank in it.",
                         section + 1);
    return 0;
}

/* Does anything have the old name in a form longer than the new one's?  Then its '@' and '#' are
 * those of that form and no part of a node. */
static int check_evidence(struct work *work, const struct host_rename *rename, struct error *err) {
    int64_t count = 0;

    if (db_query_int(
            work->tx, &count, err,
            "SELECT (SELECT COUNT(*) FROM pools WHERE name = $1 OR (host = $1 AND $2 = 1)) + "
            "(SELECT COUNT(*) FROM services WHERE binary_name = '" SERVICE_VOLUME
            "' AND host = $1 AND $2 = 1) + "
            "(SELECT COUNT(*) FROM operations WHERE host = $1 AND $2 = 1) + "
            "(SELECT COUNT(*) FROM volumes WHERE host = $1) + "
            "(SELECT COUNT(*) FROM volume_groups WHERE host = $1)",
            DB_TEXT(rename->old_name), DB_BOOL(form_of(rename->new_name) == NODE)) < 0)
        return -1;
    return count > 0;
}

/* The node of an old name may have '@' and '#' in it. */
static int check_forms(struct work *work, const struct host_rename *rename, struct error *err) {
    enum form old_form = form_of(rename->old_name), new_form = form_of(rename->new_name);
    int differ = old_form != new_form;

    if (old_form > new_form)
        differ = check_evidence(work, rename, err);
    return differ <= 0 ? differ
                       : error_set(err, ERROR_BAD_REQUEST,
                                   "%s and %s must both be a NODE, both NODE@BACKEND or both "
                                   "NODE@BACKEND#POOL.",
                                   rename->old_name, rename->new_name);
}

static int check_backend(struct arena *arena, const struct host_rename *rename, struct error *err) {
    const char *node_end = strchr(rename->old_name, '@'), *backend;

    if (form_of(rename->old_name) != POOL || form_of(rename->new_name) != POOL)
        return 0;
    backend =
        arena_text_n(arena, rename->old_name, (size_t)(strchr(node_end, '#') - rename->old_name));
    return strcmp(backend, host_backend(arena, rename->new_name)) == 0
               ? 0
               : error_set(err, ERROR_BAD_REQUEST,
                           "A pool stays at its backend: rename %s first, then the pool.", backend);
}

static int check_names(struct work *work, const struct host_rename *rename, struct error *err) {
    if (!*rename->old_name)
        return error_set(err, ERROR_BAD_REQUEST, "The old name is empty.");
    if (check_new_name(rename->new_name, err) < 0 ||
        check_parts(work->arena, rename->new_name, err) < 0)
        return -1;
    if (strcmp(rename->old_name, rename->new_name) == 0)
        return error_set(err, ERROR_BAD_REQUEST, "The host has the name %s already.",
                         rename->new_name);
    return check_backend(work->arena, rename, err) < 0 ? -1 : check_forms(work, rename, err);
}

/* A manager that reports serves the old name, and would not find its rows. */
static int check_silent(struct work *work, const struct host_rename *rename, struct error *err) {
    int64_t oldest = work->clock_us - work->settings->service_down_s * SECOND_US, reported_at = 0;
    const struct range range = range_of(work->arena, rename, "");
    int found;

    if (end_of(rename) == '\0')
        return 0;
    found = db_query_int(work->tx, &reported_at, err,
                         arena_format(work->arena, "SELECT MAX(reported_at) FROM services WHERE %s",
                                      services_old(work->arena, rename)),
                         OLD_VALUES(range));
    if (found <= 0 || reported_at < oldest)
        return found < 0 ? -1 : 0;
    return error_set(err, ERROR_CONFLICT,
                     "A service of host %s reported %lld s ago: stop it, and try again in %lld s.",
                     rename->old_name, (long long)((work->clock_us - reported_at) / SECOND_US),
                     (long long)((reported_at - oldest) / SECOND_US + 1));
}

/* Of a node that never had a manager, as a backend_host, a host with one more '@' may be its
 * backend of an earlier release, or that of a node with an '@' in its name. */
static int check_owned(struct work *work, const struct host_rename *rename, struct error *err) {
    const struct range range = range_of(work->arena, rename, "");
    const char *below = below_old(work->arena, "h.host");
    autorows struct db_rows *rows = NULL;
    int found;

    if (form_of(rename->new_name) != NODE)
        return 0;
    rows =
        db_query(work->tx, err,
                 arena_format(work->arena,
                              "SELECT h.host FROM (SELECT host FROM volumes UNION "
                              "SELECT host FROM volume_groups UNION "
                              "SELECT host FROM operations UNION SELECT host FROM services "
                              "WHERE binary_name = '" SERVICE_VOLUME "') h WHERE %s AND "
                              "(substr(h.host, CAST($5 AS INTEGER)) LIKE '%%@%%#%%' OR "
                              "substr(h.host, CAST($5 AS INTEGER)) LIKE '%%@%%' AND "
                              "h.host NOT LIKE '%%#%%') AND NOT EXISTS (SELECT 1 FROM services s "
                              "WHERE s.binary_name = '" SERVICE_SCHEDULER "' AND s.host = $1) "
                              "ORDER BY h.host LIMIT 1",
                              below),
                 OLD_VALUES(range), DB_INT(range.rest + 1));
    found = rows ? db_next(rows, err) : -1;
    return found <= 0
               ? found
               : error_set(err, ERROR_CONFLICT,
                           "%s may be of node %s or of a node with a longer name: rename its "
                           "backend, NODE@BACKEND, first.",
                           host_backend(work->arena, db_text(rows, 0)), rename->old_name);
}

int host_rename(struct work *work, struct host_rename *rename, struct error *err) {
    if (check_names(work, rename, err) < 0 || check_owned(work, rename, err) < 0 ||
        count_all(work, rename, err) < 0 || check_silent(work, rename, err) < 0)
        return -1;
    if (rename->dry_run)
        return 0;
    if (rename_at(work, &volumes, rename, err) < 0 || rename_at(work, &groups, rename, err) < 0 ||
        rename_at(work, &operations, rename, err) < 0)
        return -1;
    for (size_t i = 0; i < LENGTH(messages); i++)
        if (rename_at(work, &messages[i], rename, err) < 0)
            return -1;
    if (rename_pools(work, rename, err) < 0 || rename_services(work, rename, err) < 0)
        return -1;
    /* The new service may have a row of its own. */
    return db_change(work->tx, err,
                     "UPDATE volumes SET service_uuid = " POOL_SERVICE_ID(
                         "volumes.host") " WHERE service_uuid IS NOT NULL AND NOT EXISTS "
                                         "(SELECT 1 FROM services s WHERE s.id = "
                                         "volumes.service_uuid)");
}

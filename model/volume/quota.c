#include "model/volume/quota.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "operation/quota.h"
#include "operation/quota_limit.h"

static void demand_volume(struct quota_demands *demands, struct arena *arena, const char *type_name,
                          int64_t size_gb) {
    assert(size_gb >= 0);
    quota_demand_add(demands, arena, QUOTA_GIGABYTES, type_name, size_gb);
    quota_demand_add(demands, arena, QUOTA_VOLUMES, type_name, 1);
}

int volume_quota_take(struct work *work, const char *project_id, const char *type_name,
                      int64_t size_gb, struct error *err) {
    struct quota_demands demands = { .count = 0 };

    quota_demand_add(&demands, work->arena, QUOTA_PER_VOLUME, NULL, size_gb);
    demand_volume(&demands, work->arena, type_name, size_gb);
    return quota_take(work, project_id, &demands, err);
}

int volume_quota_count(struct work *work, const struct volume *volume, struct error *err) {
    struct quota_demands demands = { .count = 0 };

    assert(volume->use_quota);
    demand_volume(&demands, work->arena, volume->type_name, volume->size_gb);
    return quota_count(work, volume->project_id, &demands, err);
}

int volume_quota_give_back(struct work *work, const struct volume *volume, struct error *err) {
    struct quota_demands demands = { .count = 0 };

    if (!volume->use_quota)
        return 0;
    demand_volume(&demands, work->arena, volume->type_name, volume->size_gb);
    return quota_give_back(work, volume->project_id, &demands, err);
}

int volume_quota_reserve_growth(struct work *work, const struct volume *volume,
                                const char *operation_id, int64_t new_size_gb, struct error *err) {
    struct quota_demands demands = { .count = 0 };

    assert(operation_id && new_size_gb >= volume->size_gb);
    quota_demand_add(&demands, work->arena, QUOTA_PER_VOLUME, NULL, new_size_gb);
    if (volume->use_quota)
        quota_demand_add(&demands, work->arena, QUOTA_GIGABYTES, volume->type_name,
                         new_size_gb - volume->size_gb);
    return quota_reserve(work, volume->project_id, operation_id, &demands, err);
}

static struct quota_demands of_snapshot(const struct work *work, const struct snapshot *snapshot) {
    struct quota_demands demands = { .count = 0 };

    assert(snapshot->counted_gb >= 0);
    quota_demand_add(&demands, work->arena, QUOTA_SNAPSHOTS, snapshot->type_name, 1);
    if (snapshot->counted_gb > 0)
        quota_demand_add(&demands, work->arena, QUOTA_GIGABYTES, snapshot->type_name,
                         snapshot->counted_gb);
    return demands;
}

int snapshot_quota_take(struct work *work, const struct snapshot *snapshot, struct error *err) {
    const struct quota_demands demands = of_snapshot(work, snapshot);

    return quota_take(work, snapshot->project_id, &demands, err);
}

int snapshot_quota_count(struct work *work, const struct snapshot *snapshot, struct error *err) {
    const struct quota_demands demands = of_snapshot(work, snapshot);

    assert(snapshot->use_quota);
    return quota_count(work, snapshot->project_id, &demands, err);
}

int snapshot_quota_give_back(struct work *work, const struct snapshot *snapshot,
                             struct error *err) {
    const struct quota_demands demands = of_snapshot(work, snapshot);

    return snapshot->use_quota ? quota_give_back(work, snapshot->project_id, &demands, err) : 0;
}

/* ---- of another type ---- */

/* The quotas of the objects of one project. */
struct share {
    const char *project_id;
    int64_t volumes, snapshots, gigabytes;
};

static int read_share(struct work *work, const struct db_rows *rows, void *item,
                      struct error *err) {
    (void)err;
    *(struct share *)item = (struct share){
        .project_id = db_copy(rows, 0, work->arena),
        .volumes = db_int(rows, 1),
        .snapshots = db_int(rows, 2),
        .gigabytes = db_int(rows, 3),
    };
    return 0;
}

/* `of_type_alone`: of the quotas of the type, not of those of all. */
static void demand_share(struct quota_demands *demands, struct arena *arena,
                         const struct share *share, const char *type_name, bool of_type_alone) {
    const struct {
        const char *resource;
        int64_t amount;
    } rows[] = { { QUOTA_VOLUMES, share->volumes },
                 { QUOTA_SNAPSHOTS, share->snapshots },
                 { QUOTA_GIGABYTES, share->gigabytes } };

    assert(share->volumes >= 0 && share->snapshots >= 0 && share->gigabytes >= 0);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *resource = of_type_alone
                                   ? quota_limit_of_type(arena, rows[i].resource, type_name)
                                   : rows[i].resource;

        if (rows[i].amount > 0)
            quota_demand_add(demands, arena, resource, of_type_alone ? NULL : type_name,
                             rows[i].amount);
    }
}

static struct quota_demands of_type(const struct work *work, const struct share *share,
                                    const char *type_name) {
    struct quota_demands demands = { .count = 0 };

    demand_share(&demands, work->arena, share, type_name, true);
    return demands;
}

/* Of the volume and, wanted or not, of its snapshots; how many projects have any. */
static int shares_of(struct work *work, const struct volume *volume, bool with_snapshots,
                     struct share **ret, struct error *err) {
    return query_all(work,
                     db_query(work->tx, err,
                              "SELECT project_id, CAST(SUM(volumes) AS BIGINT), "
                              "CAST(SUM(snapshots) AS BIGINT), "
                              "CAST(SUM(gigabytes) AS BIGINT) FROM "
                              "(SELECT project_id, 1 AS volumes, 0 AS snapshots, "
                              "size_gb AS gigabytes FROM volumes "
                              "WHERE id = $1 AND use_quota = 1 UNION ALL "
                              "SELECT project_id, 0, 1, counted_gb FROM snapshots "
                              "WHERE volume_id = $1 AND use_quota = 1 AND $2 = 1) taken "
                              "GROUP BY project_id ORDER BY project_id",
                              DB_TEXT(volume->id), DB_BOOL(with_snapshots)),
                     read_share, ret, err);
}

int volume_quota_retype(struct work *work, const struct volume *volume, const char *new_type_name,
                        struct error *err) {
    struct share *shares;
    int count = shares_of(work, volume, true, &shares, err);

    for (int i = 0; i < count; i++) {
        const struct quota_demands more = of_type(work, &shares[i], new_type_name);

        if (quota_take(work, shares[i].project_id, &more, err) < 0)
            return -1;
        if (volume->type_name) {
            const struct quota_demands less = of_type(work, &shares[i], volume->type_name);

            if (quota_give_back(work, shares[i].project_id, &less, err) < 0)
                return -1;
        }
    }
    return count < 0 ? -1 : 0;
}

/* ---- of another project ---- */

int volume_quota_transfer(struct work *work, const struct volume *volume, const char *project_id,
                          bool with_snapshots, struct error *err) {
    struct quota_demands more = { .count = 0 };
    struct share all = { .project_id = project_id }, *shares;
    int count = shares_of(work, volume, with_snapshots, &shares, err);

    for (int i = 0; i < count; i++) {
        struct quota_demands less = { .count = 0 };

        demand_share(&less, work->arena, &shares[i], volume->type_name, false);
        if (quota_give_back(work, shares[i].project_id, &less, err) < 0)
            return -1;
        all.volumes += shares[i].volumes;
        all.snapshots += shares[i].snapshots;
        all.gigabytes += shares[i].gigabytes;
    }
    if (count < 0)
        return -1;
    quota_demand_add(&more, work->arena, QUOTA_PER_VOLUME, NULL, volume->size_gb);
    demand_share(&more, work->arena, &all, volume->type_name, false);
    return quota_take(work, project_id, &more, err);
}

static struct quota_demands one_group(const struct work *work) {
    struct quota_demands demands = { .count = 0 };

    quota_demand_add(&demands, work->arena, QUOTA_GROUPS, NULL, 1);
    return demands;
}

int group_quota_take(struct work *work, const char *project_id, struct error *err) {
    const struct quota_demands demands = one_group(work);

    return quota_take(work, project_id, &demands, err);
}

int group_quota_give_back(struct work *work, const char *project_id, struct error *err) {
    const struct quota_demands demands = one_group(work);

    return quota_give_back(work, project_id, &demands, err);
}

#define SNAPSHOTS_OF_TYPES                                                  \
    "FROM snapshots s JOIN volumes v ON v.id = s.volume_id "                \
    "JOIN volume_types t ON t.id = v.volume_type_id WHERE s.use_quota = 1 " \
    "GROUP BY s.project_id, t.name"

const char volume_quota_in_use[] =
    "SELECT project_id, 'volumes' AS resource, COUNT(*) AS in_use FROM volumes "
    "WHERE use_quota = 1 GROUP BY project_id UNION ALL "
    "SELECT project_id, 'gigabytes', SUM(size_gb) FROM volumes "
    "WHERE use_quota = 1 GROUP BY project_id UNION ALL "
    "SELECT project_id, 'volumes_' || t.name, COUNT(*) FROM volumes v "
    "JOIN volume_types t ON t.id = v.volume_type_id WHERE use_quota = 1 "
    "GROUP BY project_id, t.name UNION ALL "
    "SELECT project_id, 'gigabytes_' || t.name, SUM(size_gb) FROM volumes v "
    "JOIN volume_types t ON t.id = v.volume_type_id WHERE use_quota = 1 "
    "GROUP BY project_id, t.name UNION ALL "
    "SELECT project_id, 'snapshots', COUNT(*) FROM snapshots "
    "WHERE use_quota = 1 GROUP BY project_id UNION ALL "
    "SELECT project_id, 'gigabytes', SUM(counted_gb) FROM snapshots "
    "WHERE use_quota = 1 GROUP BY project_id UNION ALL "
    "SELECT s.project_id, 'snapshots_' || t.name, COUNT(*) " SNAPSHOTS_OF_TYPES " UNION ALL "
    "SELECT s.project_id, 'gigabytes_' || t.name, SUM(s.counted_gb) " SNAPSHOTS_OF_TYPES
    " UNION ALL SELECT project_id, 'groups', COUNT(*) FROM volume_groups GROUP BY project_id "
    "UNION ALL SELECT project_id, CASE kind WHEN 'CStorVolumeSnapshot' THEN 'snapshots' "
    "ELSE 'volumes' END, COUNT(*) FROM documents WHERE size_gb <> 0 "
    "GROUP BY project_id, kind UNION ALL "
    "SELECT project_id, 'gigabytes', SUM(size_gb) FROM documents "
    "WHERE size_gb > 0 GROUP BY project_id";

/* The jobs of one set of snapshots: which leader includes which jobs, and that none reports a
 * failure while another one may just be doing it. */
#include "compute/jobs/assist_job.private.h"
#include "tests/lib/check_main.h"

#include <stdio.h>
#include <string.h>

enum { JOBS = 3 };

static const char *const ids[JOBS] = { "11111111-1111-4111-8111-111111111111",
                                       "22222222-2222-4222-8222-222222222222",
                                       "33333333-3333-4333-8333-333333333333" };

struct scene {
    struct assists assists;
    struct assist_job jobs[JOBS]; /* the first leads */
    struct arena *arena;
};

static void begin(struct scene *scene) {
    memset(scene, 0, sizeof(*scene));
    pthread_mutex_init(&scene->assists.lock, NULL);
    LIST_INIT(&scene->assists.jobs);
    scene->arena = arena_new();
    for (int i = 0; i < JOBS; i++) {
        struct assist_job *job = &scene->jobs[i];

        job->assists = &scene->assists;
        snprintf(job->snapshot_id, sizeof(job->snapshot_id), "%s", ids[i]);
        snprintf(job->volume_id, sizeof(job->volume_id), "volume %d", i);
        snapshot_set_copy(&job->set, ids, JOBS);
        LIST_INSERT_HEAD(&scene->assists.jobs, job, next);
    }
}

static void end(struct scene *scene) {
    for (int i = 0; i < JOBS; i++)
        free(scene->jobs[i].set.ids);
    pthread_mutex_destroy(&scene->assists.lock);
    arena_free(scene->arena);
}

START_TEST(an_included_job_does_not_fail_until_it_is_released) {
    struct snapshot_member others[JOBS];
    struct scene scene;

    begin(&scene);
    ck_assert_uint_eq(assist_include_others(&scene.jobs[0], scene.arena, others), JOBS - 1);
    for (int i = 1; i < JOBS; i++)
        ck_assert(!assist_may_fail(&scene.jobs[i]));
    ck_assert(!scene.jobs[1].failed);
    assist_release_others(&scene.jobs[0]);
    ck_assert(assist_may_fail(&scene.jobs[1]));
    end(&scene);
}
END_TEST

/* Its report is on the way: a call for all would take it although its service undoes it. */
START_TEST(a_failed_job_is_not_included) {
    struct snapshot_member others[JOBS];
    struct scene scene;

    begin(&scene);
    ck_assert(assist_may_fail(&scene.jobs[1]));
    ck_assert_uint_eq(assist_include_others(&scene.jobs[0], scene.arena, others), JOBS - 2);
    ck_assert_str_eq(others[0].snapshot_id, ids[2]);
    ck_assert(!scene.jobs[1].included);
    end(&scene);
}
END_TEST

/* Nor does it keep itself from failing, nor those that do not go with it. */
START_TEST(the_leader_includes_only_the_others) {
    struct snapshot_member others[JOBS];
    struct scene scene;

    begin(&scene);
    scene.jobs[0].set.count = 2;
    ck_assert_uint_eq(assist_include_others(&scene.jobs[0], scene.arena, others), 1);
    ck_assert_str_eq(others[0].snapshot_id, ids[1]);
    ck_assert_str_eq(others[0].volume_id, "volume 1");
    ck_assert(assist_may_fail(&scene.jobs[0]));
    ck_assert(assist_may_fail(&scene.jobs[2]));
    end(&scene);
}
END_TEST

/* One of them was not requested, or has ended. */
START_TEST(a_missing_job_is_not_counted) {
    struct snapshot_member others[JOBS];
    struct scene scene;

    begin(&scene);
    LIST_REMOVE(&scene.jobs[2], next);
    ck_assert_uint_eq(assist_include_others(&scene.jobs[0], scene.arena, others), 1);
    end(&scene);
}
END_TEST

CHECK_MAIN("assist others", an_included_job_does_not_fail_until_it_is_released,
           a_failed_job_is_not_included, the_leader_includes_only_the_others,
           a_missing_job_is_not_counted)

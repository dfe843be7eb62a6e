#include "tests/lib/check_main.h"

#include "compute/jobs/job.h"
#include "tests/unit/compute/agent/agent_scene.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define OTHER  "33333333-3333-4333-8333-333333333333"
#define READ   "/v3/volumes/" VOLUME
#define ACTION "/v3/volumes/" VOLUME "/action"

#define SUCCESS "{\"os-extend_volume_completion\": {\"error\": false}}"
#define FAILURE "{\"os-extend_volume_completion\": {\"error\": true}}"

#define BODY(status, size, metadata)                                                    \
    "{\"volume\": {\"id\": \"" VOLUME "\", \"status\": \"" status "\", \"size\": " size \
    ", \"metadata\": {" metadata "}, \"attachments\": [{\"server_id\": \"" INSTANCE     \
    "\", \"host_name\": \"here\"}]}}"
#define EXTENDING BODY("extending", "1", "\"extend_new_size\": \"3\"")

/* A running guest with a disk of 1 GiB, and a scripted volume API; pauses of a millisecond. */
struct scene {
    struct fake_hypervisor *fake;
    struct script_server *server;
    struct jobs *jobs;
    struct disk disk;
    char url[URL_SIZE], folder[64];
};

static struct scene *scene_with(int64_t busy_ms, int64_t unreachable_ms) {
    struct scene *scene = calloc(1, sizeof(*scene));
    struct job_settings settings = {
        .host = "here",
        .workers = 2,
        .retry_ms = 1,
        .busy_ms = busy_ms,
        .unreachable_ms = unreachable_ms,
    };

    scene->fake = guest_new("", GIB, &scene->disk);
    scene->server = volume_api_new(scene->url);
    settings.hypervisor = fake_hypervisor_of(scene->fake);
    settings.api.url = scene->url;
    scene->jobs = jobs_new(&settings);
    return scene;
}

static struct scene *scene_new(void) {
    return scene_with(60000, 60000);
}

static void scene_end(struct scene *scene) {
    jobs_stop(scene->jobs);
    script_server_free(scene->server);
    fake_hypervisor_free(scene->fake);
    if (scene->folder[0]) {
        unlink(scene->disk.source);
        rmdir(scene->folder);
    }
    free(scene);
}

static void answer_times(struct scene *scene, const char *path, int status, const char *body,
                         unsigned times) {
    script_server_add(
        scene->server,
        &(struct script_rule){ .path = path, .status = status, .body = body, .times = times });
}

static void answer(struct scene *scene, const char *path, int status, const char *body) {
    answer_times(scene, path, status, body, 0);
}

static void put(struct scene *scene) {
    struct error err = { 0 };

    ck_assert_int_eq(jobs_put(scene->jobs, VOLUME, INSTANCE, "req-7", &err), 0);
}

static void resume(struct scene *scene, const char *instance_uuid) {
    struct error err = { 0 };

    ck_assert_int_eq(jobs_resume(scene->jobs, VOLUME, instance_uuid, &err), 0);
}

/* No job is open any more. */
static void await_end(struct scene *scene) {
    const struct timespec pause = { .tv_nsec = 1000000 };

    for (int i = 0; i < 20000 && jobs_open(scene->jobs) > 0; i++)
        nanosleep(&pause, NULL);
    ck_assert_uint_eq(jobs_open(scene->jobs), 0);
}

static void run(struct scene *scene) {
    put(scene);
    await_end(scene);
}

static unsigned reports(struct scene *scene) {
    return script_server_count(scene->server, "POST", ACTION);
}

static const char *last_report(struct scene *scene) {
    return script_server_request(scene->server, "POST", ACTION, reports(scene) - 1)->body;
}

static int64_t capacity(struct scene *scene) {
    return fake_hypervisor_capacity(scene->fake, VOLUME);
}

#define EXTENDING_TO(size) BODY("extending", "1", "\"extend_new_size\": \"" size "\"")

static void answer_named(struct scene *scene, const char *body, const char *header,
                         unsigned times) {
    script_server_add(
        scene->server,
        &(struct script_rule){
            .path = READ, .status = 200, .body = body, .header = header, .times = times });
}

/* X5: the extend was reset and another begun between the query and the report.  The API refuses the
 * report by the name in it, and the volume has the name of the other one. */
START_TEST(a_report_names_its_extend) {
    struct scene *scene = scene_new();

    answer_named(scene, EXTENDING_TO("2"), "X-Scoria-Extend: first", 1);
    answer_named(scene, EXTENDING_TO("3"), "X-Scoria-Extend: second", 0);
    answer_times(scene, ACTION, 400, NULL, 1);
    answer(scene, ACTION, 202, NULL);
    run(scene);
    ck_assert_int_eq(capacity(scene), 3 * GIB);
    ck_assert_uint_eq(reports(scene), 2);
    ck_assert(script_request_has(script_server_request(scene->server, "POST", ACTION, 0),
                                 "X-Scoria-Extend", "first"));
    ck_assert(script_request_has(script_server_request(scene->server, "POST", ACTION, 1),
                                 "X-Scoria-Extend", "second"));
    ck_assert_str_eq(last_report(scene), SUCCESS);
    scene_end(scene);
}
END_TEST

/* A move takes as long as it takes; the volume waits for it, and its status shows that each
 * time. */
START_TEST(a_guest_that_moves_is_waited_for) {
    struct scene *scene = scene_with(1, 1);

    scene->disk.job = scene->disk.moving = true;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    put(scene);
    ck_assert(script_server_await(scene->server, "GET", READ, 20));
    ck_assert_uint_eq(reports(scene), 0);
    scene->disk.job = scene->disk.moving = false;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    await_end(scene);
    ck_assert_uint_eq(reports(scene), 1);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    ck_assert_int_eq(capacity(scene), 3 * GIB);
    scene_end(scene);
}
END_TEST

START_TEST(a_refused_report_is_not_repeated) {
    struct scene *scene = scene_new();

    answer_named(scene, EXTENDING, "X-Scoria-Extend: first", 0);
    answer(scene, ACTION, 400, NULL);
    run(scene);
    ck_assert_uint_eq(reports(scene), 1);
    ck_assert_uint_eq(script_server_count(scene->server, "GET", READ), 2);
    scene_end(scene);
}
END_TEST

START_TEST(an_extending_volume_grows_and_is_reported_once) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    run(scene);
    ck_assert_int_eq(capacity(scene), 3 * GIB);
    ck_assert_uint_eq(reports(scene), 1);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    ck_assert(script_request_has(script_server_request(scene->server, "POST", ACTION, 0),
                                 "X-OpenStack-Request-ID", "req-7"));
    scene_end(scene);
}
END_TEST

START_TEST(a_missing_or_bad_target_is_reported_as_error) {
    static const char *const bodies[] = {
        BODY("extending", "1", ""),
        BODY("extending", "1", "\"extend_new_size\": \"x\""),
        BODY("extending", "3", "\"extend_new_size\": \"3\""),
        BODY("extending", "4", "\"extend_new_size\": \"3\""),
    };

    for (size_t i = 0; i < LENGTH(bodies); i++) {
        struct scene *scene = scene_new();

        answer(scene, READ, 200, bodies[i]);
        answer(scene, ACTION, 202, NULL);
        run(scene);
        ck_assert_uint_eq(reports(scene), 1);
        ck_assert_str_eq(last_report(scene), FAILURE);
        ck_assert_int_eq(capacity(scene), GIB);
        /* X5: the state read before an extend awaits its report shows it. */
        ck_assert(script_request_has(script_server_request(scene->server, "POST", ACTION, 0),
                                     "X-Scoria-Extend", "none") == (i == 0));
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_failed_resize_is_reported_as_error) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    fake_hypervisor_fail(scene->fake, FAKE_GROW_DISK, ERROR_BACKEND, 1, false);
    run(scene);
    ck_assert_uint_eq(reports(scene), 1);
    ck_assert_str_eq(last_report(scene), FAILURE);
    scene_end(scene);
}
END_TEST

START_TEST(any_other_status_is_followed_without_a_report) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, BODY("in-use", "2", "\"extend_new_size\": \"9\""));
    run(scene);
    ck_assert_int_eq(capacity(scene), 2 * GIB);
    ck_assert_uint_eq(reports(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_late_event_shrinks_nothing) {
    struct scene *scene = scene_new();

    scene->disk.capacity = 3 * GIB;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    answer(scene, READ, 200, BODY("error_extending", "1", ""));
    run(scene);
    ck_assert_int_eq(capacity(scene), 3 * GIB);
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_GROW_DISK), 0);
    ck_assert_uint_eq(reports(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_failure_to_follow_is_no_report) {
    struct scene *scene = scene_with(1, 1);
    static const enum error_kind kinds[] = { ERROR_BACKEND, ERROR_CONFLICT, ERROR_UNAVAILABLE };

    answer(scene, READ, 200, BODY("in-use", "2", ""));
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        fake_hypervisor_fail(scene->fake, FAKE_GROW_DISK, kinds[i], 1000000, false);
        run(scene);
    }
    ck_assert_int_eq(capacity(scene), GIB);
    ck_assert_uint_eq(reports(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_disk_on_another_host_is_no_report) {
    struct scene *scene = scene_new();

    fake_hypervisor_remove(scene->fake, VOLUME);
    answer(scene, READ, 200,
           "{\"volume\": {\"id\": \"" VOLUME "\", \"status\": \"extending\", \"size\": 1,"
           " \"metadata\": {\"extend_new_size\": \"3\"}, \"attachments\": ["
           "{\"host_name\": \"here\"}, {\"host_name\": \"there\"}]}}");
    run(scene);
    ck_assert_uint_eq(reports(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(an_unattached_disk_is_reported_as_error) {
    struct scene *scene = scene_new();

    fake_hypervisor_remove(scene->fake, VOLUME);
    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    run(scene);
    ck_assert_str_eq(last_report(scene), FAILURE);
    scene_end(scene);
}
END_TEST

/* A member names any host and any instance in a connector, another project's too. */
START_TEST(an_event_that_names_anothers_instance_touches_no_disk_of_it) {
    static const char others[] = "44444444-4444-4444-8444-444444444444";
    struct scene *scene = scene_new();

    fake_hypervisor_remove(scene->fake, VOLUME);
    fake_hypervisor_put(scene->fake, others, &scene->disk);
    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    run(scene);
    ck_assert_int_eq(fake_hypervisor_capacity(scene->fake, others), GIB);
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_GROW_DISK), 0);
    ck_assert_uint_eq(reports(scene), 1); /* of the volume that the event is about */
    ck_assert_str_eq(last_report(scene), FAILURE);
    scene_end(scene);
}
END_TEST

START_TEST(an_event_during_a_job_is_folded_and_handled_afterwards) {
    struct scene *scene = scene_new();

    answer_times(scene, READ, 200, EXTENDING, 1);
    answer(scene, READ, 200, BODY("in-use", "3", ""));
    answer(scene, ACTION, 202, NULL);
    fake_hypervisor_hold(scene->fake);
    put(scene);
    fake_hypervisor_await_held(scene->fake);
    put(scene);
    put(scene);
    ck_assert_uint_eq(jobs_open(scene->jobs), 1);
    fake_hypervisor_release(scene->fake);
    await_end(scene);
    ck_assert_uint_eq(script_server_count(scene->server, "GET", READ), 2);
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_GROW_DISK), 1);
    ck_assert_uint_eq(reports(scene), 1);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    scene_end(scene);
}
END_TEST

START_TEST(a_folded_event_carries_the_next_extend) {
    struct scene *scene = scene_new();

    answer_times(scene, READ, 200, EXTENDING, 1);
    answer(scene, READ, 200, BODY("extending", "3", "\"extend_new_size\": \"5\""));
    answer(scene, ACTION, 202, NULL);
    fake_hypervisor_hold(scene->fake);
    put(scene);
    fake_hypervisor_await_held(scene->fake);
    put(scene);
    fake_hypervisor_release(scene->fake);
    await_end(scene);
    ck_assert_int_eq(capacity(scene), 5 * GIB);
    ck_assert_uint_eq(reports(scene), 2);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    scene_end(scene);
}
END_TEST

START_TEST(a_report_that_is_being_finished_is_not_spoilt_by_a_folded_event) {
    struct scene *scene = scene_new();

    answer_times(scene, READ, 200, EXTENDING, 1);
    answer(scene, READ, 200, BODY("extending", "1", "")); /* the keys are taken already */
    answer(scene, ACTION, 202, NULL);
    fake_hypervisor_hold(scene->fake);
    put(scene);
    fake_hypervisor_await_held(scene->fake);
    put(scene);
    fake_hypervisor_release(scene->fake);
    await_end(scene);
    ck_assert_uint_eq(script_server_count(scene->server, "GET", READ), 2);
    ck_assert_uint_eq(reports(scene), 1);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    scene_end(scene);
}
END_TEST

START_TEST(two_guests_of_one_volume_both_grow) {
    struct scene *scene = scene_new();
    struct disk second = scene->disk;
    struct error err = { 0 };

    strcpy(second.instance_uuid, OTHER);
    fake_hypervisor_put(scene->fake, VOLUME, &second);
    answer(scene, READ, 200, BODY("in-use", "2", ""));
    put(scene);
    ck_assert_int_eq(jobs_put(scene->jobs, VOLUME, OTHER, NULL, &err), 0);
    await_end(scene);
    ck_assert_int_eq(capacity(scene), 2 * GIB);
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_GROW_DISK), 2);
    scene_end(scene);
}
END_TEST

START_TEST(any_instance_may_have_the_disk) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    resume(scene, NULL);
    await_end(scene);
    ck_assert_int_eq(capacity(scene), 3 * GIB);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    scene_end(scene);
}
END_TEST

START_TEST(a_report_is_repeated_until_it_is_taken) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, EXTENDING);
    answer_times(scene, ACTION, 503, "{}", 3);
    answer_times(scene, ACTION, 500, "{}", 1);
    script_server_add(scene->server,
                      &(struct script_rule){ .path = ACTION, .manner = SCRIPT_CLOSE, .times = 1 });
    answer(scene, ACTION, 202, NULL);
    run(scene);
    ck_assert_uint_eq(reports(scene), 6);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_GROW_DISK), 1);
    scene_end(scene);
}
END_TEST

/* While a report does not get through the extend is reset and begun again with another size. */
START_TEST(an_old_report_does_not_end_a_new_extend) {
    struct scene *scene = scene_new();

    answer_times(scene, READ, 200, EXTENDING, 1);
    answer(scene, READ, 200, BODY("extending", "1", "\"extend_new_size\": \"4\""));
    answer_times(scene, ACTION, 503, "{}", 1);
    answer(scene, ACTION, 202, NULL);
    run(scene);
    ck_assert_uint_eq(reports(scene), 2);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    ck_assert_int_eq(capacity(scene), 4 * GIB);
    scene_end(scene);
}
END_TEST

/* The response to a report was lost, the report was not: there is no second one. */
START_TEST(a_report_that_was_taken_unseen_is_not_repeated) {
    struct scene *scene = scene_new();

    answer_times(scene, READ, 200, EXTENDING, 1);
    answer(scene, READ, 200, BODY("extending", "1", ""));
    script_server_add(scene->server,
                      &(struct script_rule){ .path = ACTION, .manner = SCRIPT_CLOSE, .times = 1 });
    answer(scene, ACTION, 202, NULL);
    run(scene);
    ck_assert_uint_eq(reports(scene), 1);
    scene_end(scene);
}
END_TEST

START_TEST(a_refused_report_is_repeated_slowly) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, EXTENDING);
    answer_times(scene, ACTION, 403, NULL, 1);
    answer_times(scene, ACTION, 401, NULL, 1);
    answer(scene, ACTION, 202, NULL);
    run(scene);
    ck_assert_uint_eq(reports(scene), 3);
    scene_end(scene);
}
END_TEST

START_TEST(a_report_that_is_not_awaited_ends_the_job) {
    static const int statuses[] = { 400, 404 };

    for (size_t i = 0; i < LENGTH(statuses); i++) {
        struct scene *scene = scene_new();

        answer(scene, READ, 200, EXTENDING);
        answer(scene, ACTION, statuses[i], NULL);
        run(scene);
        ck_assert_uint_eq(reports(scene), 1);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_refusal_of_a_gateway_means_neither_gone_nor_unwanted) {
    static const int statuses[] = { 400, 401, 404, 410 };

    for (size_t i = 0; i < LENGTH(statuses); i++) {
        struct scene *scene = scene_new();

        answer_times(scene, READ, statuses[i], "<html>", 1);
        answer(scene, READ, 200, EXTENDING);
        answer_times(scene, ACTION, statuses[i], "<html>", 1);
        answer(scene, ACTION, 202, NULL);
        run(scene);
        ck_assert_uint_eq(reports(scene), 2);
        ck_assert_str_eq(last_report(scene), SUCCESS);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_volume_that_cannot_be_read_is_read_again) {
    struct scene *scene = scene_new();

    answer_times(scene, READ, 503, "{}", 2);
    answer_times(scene, READ, 403, NULL, 1);
    answer_times(scene, READ, 200, "no json", 1);
    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    run(scene);
    ck_assert_uint_eq(script_server_count(scene->server, "GET", READ), 5);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    scene_end(scene);
}
END_TEST

START_TEST(a_volume_that_is_gone_ends_the_job) {
    struct scene *scene = scene_new();

    answer(scene, READ, 404, NULL);
    run(scene);
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 1);
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_FIND_DISK), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_busy_disk_is_waited_for) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    scene->disk.job = true;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    put(scene);
    ck_assert(script_server_await(scene->server, "GET", READ, 3));
    ck_assert_uint_eq(reports(scene), 0);
    scene->disk.job = false;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    await_end(scene);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    ck_assert_int_eq(capacity(scene), 3 * GIB);
    scene_end(scene);
}
END_TEST

START_TEST(a_disk_that_stays_busy_is_reported_as_error) {
    struct scene *scene = scene_with(20, 60000);

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    scene->disk.job = true;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    run(scene);
    ck_assert_uint_gt(script_server_count(scene->server, "GET", READ), 1);
    ck_assert_str_eq(last_report(scene), FAILURE);
    ck_assert_int_eq(capacity(scene), GIB);
    scene_end(scene);
}
END_TEST

/* Until the hypervisor has been queried for the disk so many times more. */
static void await_looks(struct scene *scene, unsigned more) {
    const struct timespec pause = { .tv_nsec = 1000000 };
    unsigned enough = fake_hypervisor_count(scene->fake, FAKE_FIND_DISK) + more;

    for (int i = 0; i < 20000 && fake_hypervisor_count(scene->fake, FAKE_FIND_DISK) < enough; i++)
        nanosleep(&pause, NULL);
    ck_assert_uint_ge(fake_hypervisor_count(scene->fake, FAKE_FIND_DISK), enough);
}

/* A libvirtd that has just come back answers before it has found its guests again. */
START_TEST(a_disk_seen_before_is_searched_again) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    strcpy(scene->disk.source, "/nowhere/image");
    scene->disk.job = true;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    put(scene);
    await_looks(scene, 2);
    fake_hypervisor_remove(scene->fake, VOLUME);
    await_looks(scene, 3);
    ck_assert_uint_eq(reports(scene), 0);
    scene->disk.job = false;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    await_end(scene);
    ck_assert_int_eq(capacity(scene), 3 * GIB);
    ck_assert_uint_eq(reports(scene), 1);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    scene_end(scene);
}
END_TEST

START_TEST(a_disk_is_searched_again_after_an_outage) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    fake_hypervisor_remove(scene->fake, VOLUME);
    fake_hypervisor_fail(scene->fake, FAKE_FIND_DISK, ERROR_UNAVAILABLE, 1, false);
    put(scene);
    await_looks(scene, 4);
    ck_assert_uint_eq(reports(scene), 0);
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    await_end(scene);
    ck_assert_uint_eq(reports(scene), 1);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    scene_end(scene);
}
END_TEST

START_TEST(a_resumed_extend_waits_for_its_disk) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    fake_hypervisor_remove(scene->fake, VOLUME);
    resume(scene, INSTANCE);
    await_looks(scene, 3);
    ck_assert_uint_eq(reports(scene), 0);
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    await_end(scene);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    scene_end(scene);
}
END_TEST

START_TEST(a_resumed_extend_whose_disk_never_comes_is_reported_as_error) {
    struct scene *scene = scene_with(20, 60000);

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    fake_hypervisor_remove(scene->fake, VOLUME);
    resume(scene, INSTANCE);
    await_end(scene);
    ck_assert_uint_eq(reports(scene), 1);
    ck_assert_str_eq(last_report(scene), FAILURE);
    scene_end(scene);
}
END_TEST

START_TEST(an_unresponsive_hypervisor_is_retried) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    fake_hypervisor_fail(scene->fake, FAKE_FIND_DISK, ERROR_UNAVAILABLE, 3, false);
    run(scene);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    ck_assert_int_eq(capacity(scene), 3 * GIB);
    scene_end(scene);
}
END_TEST

START_TEST(after_a_lost_response_of_the_hypervisor_the_capacity_decides) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    fake_hypervisor_fail(scene->fake, FAKE_GROW_DISK, ERROR_UNAVAILABLE, 1, true);
    run(scene);
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_GROW_DISK), 1);
    ck_assert_str_eq(last_report(scene), SUCCESS);
    scene_end(scene);
}
END_TEST

START_TEST(a_hypervisor_that_stays_unresponsive_is_reported_as_error) {
    struct scene *scene = scene_with(60000, 20);

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 202, NULL);
    fake_hypervisor_fail(scene->fake, FAKE_FIND_DISK, ERROR_UNAVAILABLE, 1000000, false);
    run(scene);
    ck_assert_str_eq(last_report(scene), FAILURE);
    scene_end(scene);
}
END_TEST

/* The hypervisor dies in the call; its image is then a file of `bytes`. */
static void lose_hypervisor(struct scene *scene, int64_t bytes) {
    FILE *file;

    strcpy(scene->folder, "/tmp/scoria-job-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scene->folder));
    snprintf(scene->disk.source, sizeof(scene->disk.source), "%s/image", scene->folder);
    file = fopen(scene->disk.source, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(ftruncate(fileno(file), bytes), 0);
    fclose(file);
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    fake_hypervisor_fail(scene->fake, FAKE_GROW_DISK, ERROR_UNAVAILABLE, 1000000, false);
    fake_hypervisor_hold(scene->fake);
    put(scene);
    fake_hypervisor_await_held(scene->fake);
    fake_hypervisor_fail(scene->fake, FAKE_FIND_DISK, ERROR_UNAVAILABLE, 1000000, false);
    fake_hypervisor_release(scene->fake);
    await_end(scene);
}

START_TEST(when_the_hypervisor_is_lost_the_image_decides) {
    static const struct {
        int64_t bytes;
        const char *report;
    } rows[] = { { 3 * GIB, SUCCESS }, { GIB, FAILURE } };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_with(60000, 20);

        answer(scene, READ, 200, EXTENDING);
        answer(scene, ACTION, 202, NULL);
        lose_hypervisor(scene, rows[i].bytes);
        ck_assert_uint_eq(reports(scene), 1);
        ck_assert_str_eq(last_report(scene), rows[i].report);
        scene_end(scene);
    }
}
END_TEST

START_TEST(open_jobs_are_bounded) {
    struct scene *scene = scene_new();
    struct error err = { 0 };
    char id[37];

    answer(scene, NULL, 403, NULL); /* every job stays, and polls slowly */
    for (int i = 0; i < 1024; i++) {
        snprintf(id, sizeof(id), "11111111-1111-4111-8111-%012d", i);
        ck_assert_int_eq(jobs_put(scene->jobs, id, INSTANCE, NULL, &err), 0);
    }
    ck_assert_int_eq(jobs_put(scene->jobs, OTHER, INSTANCE, NULL, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(jobs_put(scene->jobs, id, INSTANCE, NULL, &err), 0); /* folded */
    ck_assert_uint_eq(jobs_open(scene->jobs), 1024);
    scene_end(scene);
}
END_TEST

START_TEST(a_stop_drops_waiting_jobs) {
    struct scene *scene = scene_new();

    answer(scene, READ, 200, EXTENDING);
    answer(scene, ACTION, 503, NULL);
    put(scene);
    ck_assert(script_server_await(scene->server, "POST", ACTION, 2));
    scene_end(scene); /* the sanitizers see a job that is lost or used afterwards */
}
END_TEST

CHECK_MAIN("job", a_report_names_its_extend, a_guest_that_moves_is_waited_for,
           a_refused_report_is_not_repeated, an_extending_volume_grows_and_is_reported_once,
           a_missing_or_bad_target_is_reported_as_error, a_failed_resize_is_reported_as_error,
           any_other_status_is_followed_without_a_report, a_late_event_shrinks_nothing,
           a_failure_to_follow_is_no_report, a_disk_on_another_host_is_no_report,
           an_unattached_disk_is_reported_as_error,
           an_event_that_names_anothers_instance_touches_no_disk_of_it,
           an_event_during_a_job_is_folded_and_handled_afterwards,
           a_folded_event_carries_the_next_extend,
           a_report_that_is_being_finished_is_not_spoilt_by_a_folded_event,
           two_guests_of_one_volume_both_grow, any_instance_may_have_the_disk,
           a_report_is_repeated_until_it_is_taken, an_old_report_does_not_end_a_new_extend,
           a_report_that_was_taken_unseen_is_not_repeated, a_refused_report_is_repeated_slowly,
           a_report_that_is_not_awaited_ends_the_job, a_volume_that_cannot_be_read_is_read_again,
           a_volume_that_is_gone_ends_the_job, a_busy_disk_is_waited_for,
           a_disk_that_stays_busy_is_reported_as_error, a_disk_seen_before_is_searched_again,
           a_disk_is_searched_again_after_an_outage, a_resumed_extend_waits_for_its_disk,
           a_resumed_extend_whose_disk_never_comes_is_reported_as_error,
           an_unresponsive_hypervisor_is_retried,
           after_a_lost_response_of_the_hypervisor_the_capacity_decides,
           a_hypervisor_that_stays_unresponsive_is_reported_as_error,
           when_the_hypervisor_is_lost_the_image_decides, open_jobs_are_bounded,
           a_stop_drops_waiting_jobs, a_refusal_of_a_gateway_means_neither_gone_nor_unwanted)

#include "tests/lib/check_main.h"

#include "common/log.h"
#include "compute/jobs/domain_resumer.h"
#include "tests/lib/fake_hypervisor.h"
#include "tests/lib/script_server.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define ONE    "11111111-1111-4111-8111-111111111111"
#define OTHER  "22222222-2222-4222-8222-222222222222"
#define VOLUME "33333333-3333-4333-8333-333333333333"
#define FORMER "44444444-4444-4444-8444-444444444444"
#define PATH   "/v3/volumes/" VOLUME

#define ATTACHED_TO(instance)                                     \
    "{\"volume\": {\"id\": \"" VOLUME                             \
    "\", \"status\": \"in-use\", \"size\": 1, \"metadata\": {}, " \
    "\"attachments\": [{\"server_id\": \"" instance "\"}]}}"

static struct fake_hypervisor *fake;
static struct script_server *server;
static struct resumer *resumer;

static void begin(void) {
    log_open(-1, LOG_ERROR, LOG_TEXT);
    fake = fake_hypervisor_new();
    server = script_server_new();
}

static void start(void) {
    struct resumer_settings settings = { .hypervisor = fake_hypervisor_of(fake), .pause_ms = 1 };
    static char url[80];

    snprintf(url, sizeof url, "%s/v3", script_server_url(server));
    settings.api = volumes_client(url, NULL, NULL);
    resumer = resumer_new(&settings);
}

static void end(void) {
    resumer_free(resumer);
    script_server_free(server);
    fake_hypervisor_free(fake);
}

static void pause_shortly(void) {
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void respond(int status, const char *body) {
    script_server_clear(server);
    script_server_add(server,
                      &(struct script_rule){ .path = PATH, .status = status, .body = body });
}

static void put_disk(const char *instance) {
    struct disk disk = { .state = DISK_RUNNING, .target = "vda" };

    strcpy(disk.instance_uuid, instance);
    fake_hypervisor_add_instance(fake, instance);
    fake_hypervisor_put(fake, VOLUME, &disk);
}

/* Neither a hypervisor that is not there nor a guest that does not answer ends it. */
START_TEST(stopped_guests_are_checked_periodically) {
    fake_hypervisor_add_instance(fake, ONE);
    fake_hypervisor_add_instance(fake, OTHER);
    fake_hypervisor_fail(fake, FAKE_LIST_STOPPED, ERROR_UNAVAILABLE, 2, false);
    fake_hypervisor_fail(fake, FAKE_GO_ON, ERROR_UNAVAILABLE, 1, false);
    start();
    while (fake_hypervisor_count(fake, FAKE_GO_ON) < 6)
        pause_shortly();
    ck_assert_uint_ge(fake_hypervisor_count(fake, FAKE_LIST_STOPPED), 2 + 3);
    ck_assert_uint_eq(script_server_count(server, NULL, NULL), 0);
}
END_TEST

/* It would overwrite later writes of another guest. */
START_TEST(a_guest_without_its_volume_stays_stopped) {
    put_disk(ONE);
    respond(200, ATTACHED_TO(OTHER));
    start();
    ck_assert(script_server_await(server, "GET", PATH, 3));
    respond(503, "");
    ck_assert(
        script_server_await(server, "GET", PATH, script_server_count(server, "GET", PATH) + 2));
    respond(404, "<html>"); /* of a gateway, which knows nothing of it */
    ck_assert(
        script_server_await(server, "GET", PATH, script_server_count(server, "GET", PATH) + 2));
    ck_assert_uint_eq(fake_hypervisor_count(fake, FAKE_GO_ON), 0);
    respond(200, ATTACHED_TO(ONE));
    while (fake_hypervisor_count(fake, FAKE_GO_ON) == 0)
        pause_shortly();
}
END_TEST

/* Nova swaps the volume of a disk and leaves the serial number. */
START_TEST(a_swapped_disk_is_checked_by_the_volume_of_its_file) {
    fake_hypervisor_add_instance(fake, ONE);
    fake_hypervisor_put(fake, FORMER,
                        &(struct disk){ .state = DISK_RUNNING, .instance_uuid = ONE });
    fake_hypervisor_swap(fake, FORMER, VOLUME);
    respond(200, ATTACHED_TO(OTHER));
    start();
    ck_assert(script_server_await(server, "GET", PATH, 3));
    ck_assert_uint_eq(fake_hypervisor_count(fake, FAKE_GO_ON), 0);
    respond(200, ATTACHED_TO(ONE));
    while (fake_hypervisor_count(fake, FAKE_GO_ON) == 0)
        pause_shortly();
    ck_assert_uint_eq(script_server_count(server, NULL, "/v3/volumes/" FORMER), 0);
}
END_TEST

START_TEST(a_disk_unknown_to_the_api_is_not_checked) {
    put_disk(ONE);
    respond(404, "{\"itemNotFound\": {\"code\": 404, \"message\": \"\"}}");
    start();
    while (fake_hypervisor_count(fake, FAKE_GO_ON) == 0)
        pause_shortly();
}
END_TEST

CHECK_MAIN_WITH("reviver", true, begin, end, stopped_guests_are_checked_periodically,
                a_guest_without_its_volume_stays_stopped,
                a_swapped_disk_is_checked_by_the_volume_of_its_file,
                a_disk_unknown_to_the_api_is_not_checked)

/* Chains of images below real guests: libvirt.c and blocks.c, and the agent over them. */
#include "common/cleanup.h"
#include "compute/agent/agent.h"
#include "compute/hypervisor/image.h"
#include "tests/contract/guests.h"
#include "tests/lib/exchange.h"
#include "tests/lib/script_server.h"

#include <libvirt/libvirt-qemu.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BASE     "volume-" VOLUME
#define FIRST    BASE ".aaaaaaaa-5555-4555-8555-555555555555"
#define SECOND   BASE ".bbbbbbbb-5555-4555-8555-555555555555"
#define THIRD    BASE ".cccccccc-5555-4555-8555-555555555555"
#define SNAPSHOT "99999999-5555-4555-8555-555555555555"
#define ACTION   "/v3/snapshots/" SNAPSHOT "/action"

/* ---- files and guests ---- */

static const char *path_of(struct scene *scene, const char *name) {
    return name ? arena_format(scene->arena, "%s/%s", guests_folder, name) : NULL;
}

/* An empty image above another, as the service makes it. */
static void make_overlay(const char *name, const char *below, int size_mib) {
    shell("cd %s && qemu-img create -q -f qcow2 -F %s -b %s %s %dM", guests_folder,
          strcmp(below, BASE) == 0 ? "raw" : "qcow2", below, name, size_mib);
}

static void remove_files(const char *pattern) {
    shell("cd %s && rm -f %s", guests_folder, pattern);
}

static void start(struct scene *scene) {
    virDomainPtr domain = virDomainLookupByUUIDString(scene->control, INSTANCE);

    ck_assert_int_eq(virDomainCreate(domain), 0);
    virDomainFree(domain);
}

/* SIGTERM: QEMU's state is in the files afterwards. */
static void stop(struct scene *scene) {
    virDomainPtr domain = virDomainLookupByUUIDString(scene->control, INSTANCE);

    ck_assert_int_eq(virDomainDestroyFlags(domain, VIR_DOMAIN_DESTROY_GRACEFUL), 0);
    virDomainFree(domain);
}

/* With the volume's disk, another one and a drive without a disk: defined, and running. */
static struct scene *scene_running(void) {
    struct scene *scene = scene_new("raw");
    virDomainPtr domain;
    const char *disks;

    remove_files("volume-*");
    shell("qemu-img create -q -f raw %s 64M", path_of(scene, BASE));
    disks = arena_format(scene->arena,
                         "%s%s<disk type='file' device='cdrom'><target dev='hda' bus='ide'/>"
                         "<readonly/></disk>",
                         disk_xml(scene, "raw", path_of(scene, BASE), "vda", VOLUME, ""),
                         disk_xml(scene, "raw", scene->image, "vdb", OTHER, ""));
    domain = virDomainDefineXML(scene->control, guest_xml(scene, INSTANCE, disks));
    ck_assert_ptr_nonnull(domain);
    virDomainFree(domain);
    start(scene);
    return scene;
}

/* The writes of the guest's device: 64 KiB of a byte, at as many times 64 KiB. */
static void guest_write(struct scene *scene, unsigned byte) {
    virDomainPtr domain = virDomainLookupByUUIDString(scene->control, INSTANCE);
    char command[200], *answer = NULL;

    snprintf(command, sizeof(command),
             "qemu-io -d /machine/peripheral/virtio-disk0/virtio-backend \"write -P %u %uk 64k\"",
             byte, byte * 64);
    ck_assert_int_eq(
        virDomainQemuMonitorCommand(domain, command, &answer, VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP),
        0);
    ck_assert_str_eq(answer, "");
    free(answer);
    virDomainFree(domain);
}

/* The content that can be read through the image: bytes 1 to `last` where they were written, and no
 * more. */
static void assert_content(const char *name, const char *format, unsigned last) {
    for (unsigned byte = 1; byte <= 5; byte++)
        shell("qemu-io -r -f %s -c 'read -P %u %uk 64k' %s/%s > /dev/null", format,
              byte <= last ? byte : 0, byte * 64, guests_folder, name);
}

/* The header names the image below as it is there: without a folder, and its format. */
static void assert_below(const char *name, const char *below, const char *format) {
    shell("qemu-img info --output=json -U %s/%s | grep -q '\"backing-filename\": \"%s\"'",
          guests_folder, name, below);
    shell("qemu-img info --output=json -U %s/%s | grep -q '\"backing-filename-format\": \"%s\"'",
          guests_folder, name, format);
}

/* ---- requests to the hypervisor ---- */

static int snapshot(struct scene *scene, const struct disk *disk, const char *name) {
    const struct disk_overlay overlay = { disk, path_of(scene, name) };

    return scene->hypervisor->snapshot_disks(scene->hypervisor, scene->arena, &overlay, 1,
                                             &scene->err);
}

static void take_snapshot(struct scene *scene, const char *name, const char *below) {
    struct disk disk = scene_found(scene);

    make_overlay(name, below, 64);
    if (snapshot(scene, &disk, name) < 0)
        ck_abort_msg("%s", scene->err.message);
}

/* THIRD ← SECOND ← FIRST ← BASE, in each its byte. */
static void make_chain(struct scene *scene) {
    guest_write(scene, 1);
    take_snapshot(scene, FIRST, BASE);
    guest_write(scene, 2);
    take_snapshot(scene, SECOND, FIRST);
    guest_write(scene, 3);
    take_snapshot(scene, THIRD, SECOND);
    guest_write(scene, 4);
}

static int begin_merge(struct scene *scene, const struct disk *disk, const char *top,
                       const char *base) {
    return scene->hypervisor->merge_disk(scene->hypervisor, scene->arena, disk, path_of(scene, top),
                                         path_of(scene, base), &scene->err);
}

/* "" as long as it is unknown. */
static const char *chain_of(struct scene *scene) {
    struct disk disk;
    const char *const *paths;
    const char *text = "";

    if (scene_find(scene, INSTANCE, &disk) < 0 || disk.state != DISK_RUNNING ||
        scene->hypervisor->list_chain(scene->hypervisor, scene->arena, &disk, &paths, &scene->err) <
            0)
        return "";
    for (; *paths; paths++)
        text = arena_format(scene->arena, "%s%s%s", text, text[0] ? " " : "",
                            *paths + strlen(guests_folder) + 1);
    return text;
}

static void take_a_breath(void) {
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

static void await_chain(struct scene *scene, const char *wanted) {
    while (strcmp(chain_of(scene), wanted) != 0)
        take_a_breath();
}

static const char *definition(struct scene *scene) {
    virDomainPtr domain = virDomainLookupByUUIDString(scene->control, INSTANCE);
    autofree char *xml = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_INACTIVE);

    virDomainFree(domain);
    return arena_text(scene->arena, xml);
}

/* ---- snapshots ---- */

START_TEST(a_guest_goes_on_in_each_new_overlay) {
    struct scene *scene = scene_running();

    make_chain(scene);
    ck_assert_str_eq(chain_of(scene), THIRD " " SECOND " " FIRST " " BASE);
    stop(scene);
    assert_content(BASE, "raw", 1);
    assert_content(FIRST, "qcow2", 2);
    assert_content(SECOND, "qcow2", 3);
    assert_content(THIRD, "qcow2", 4);
    scene_end(scene);
}
END_TEST

START_TEST(the_definition_names_the_overlay_too) {
    struct scene *scene = scene_running();
    struct disk disk;

    take_snapshot(scene, FIRST, BASE);
    guest_write(scene, 1);
    disk = scene_found(scene);
    ck_assert_str_eq(disk.source, path_of(scene, FIRST));
    ck_assert_str_eq(disk.format, "qcow2");
    ck_assert_ptr_nonnull(strstr(definition(scene), "<driver name='qemu' type='qcow2'/>"));
    ck_assert_ptr_nonnull(strstr(definition(scene), "/" FIRST "'"));
    stop(scene);
    disk = scene_found(scene);
    ck_assert_int_eq(disk.state, DISK_OFF);
    ck_assert_str_eq(disk.source, path_of(scene, FIRST));
    ck_assert_str_eq(disk.format, "qcow2");
    start(scene);
    ck_assert_str_eq(chain_of(scene), FIRST " " BASE);
    scene_end(scene);
}
END_TEST

START_TEST(other_disks_stay_as_they_are) {
    struct scene *scene = scene_running();
    struct disk disk;

    take_snapshot(scene, FIRST, BASE);
    ck_assert_int_eq(scene_find_volume(scene, INSTANCE, OTHER, &disk), 0);
    ck_assert_str_eq(disk.source, scene->image);
    ck_assert_str_eq(disk.format, "raw");
    scene_end(scene);
}
END_TEST

/* Of several disks: all of them or none, in one transaction of QEMU's, as libvirt logs its messages
 * to the monitor. */
START_TEST(several_disks_go_on_in_overlays_at_one_moment) {
    struct scene *scene = scene_running();
    struct hypervisor *hypervisor = scene->hypervisor;
    struct disk disk = scene_found(scene), other;
    const char *top = path_of(scene, "other");
    const struct disk_overlay overlays[] = { { &disk, path_of(scene, FIRST) }, { &other, top } };

    ck_assert_int_eq(scene_find_volume(scene, INSTANCE, OTHER, &other), 0);
    make_overlay(FIRST, BASE, 64);
    ck_assert_int_eq(hypervisor->snapshot_disks(hypervisor, scene->arena, overlays, 2, &scene->err),
                     -1);
    ck_assert_str_eq(chain_of(scene), BASE);
    shell("qemu-img create -q -f qcow2 -F raw -b %s %s 64M", scene->image, top);
    if (hypervisor->snapshot_disks(hypervisor, scene->arena, overlays, 2, &scene->err) < 0)
        ck_abort_msg("%s", scene->err.message);
    ck_assert_str_eq(chain_of(scene), FIRST " " BASE);
    ck_assert_int_eq(scene_find_volume(scene, INSTANCE, OTHER, &other), 0);
    ck_assert_str_eq(other.source, top);
    shell("grep SEND_MSG %s/log | grep '\"transaction\"' | tail -n 1 | grep -q "
          "'\"blockdev-snapshot\".*\"blockdev-snapshot\"'",
          guests_folder);
    scene_end(scene);
    unlink(top);
}
END_TEST

/* The waiting worker has given up and removed the overlay; or another one was faster. */
START_TEST(a_late_snapshot_changes_nothing) {
    struct scene *scene = scene_running();
    struct disk before = scene_found(scene);

    ck_assert_int_eq(snapshot(scene, &before, FIRST), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_BACKEND);
    ck_assert_str_eq(chain_of(scene), BASE);
    take_snapshot(scene, FIRST, BASE);
    make_overlay(SECOND, BASE, 64);
    ck_assert_int_eq(snapshot(scene, &before, SECOND), -1);
    ck_assert_int_eq(snapshot(scene, &before, FIRST), -1);
    ck_assert_str_eq(chain_of(scene), FIRST " " BASE);
    guest_write(scene, 1);
    stop(scene);
    assert_content(FIRST, "qcow2", 1);
    scene_end(scene);
}
END_TEST

START_TEST(an_overlay_of_another_image_is_refused) {
    struct scene *scene = scene_running();
    struct disk disk = scene_found(scene);

    make_overlay(FIRST, BASE, 32);
    ck_assert_int_eq(snapshot(scene, &disk, FIRST), -1);
    shell("qemu-img create -q -f qcow2 %s 64M", path_of(scene, SECOND));
    ck_assert_int_eq(snapshot(scene, &disk, SECOND), -1);
    make_overlay(THIRD, SECOND, 64);
    ck_assert_int_eq(snapshot(scene, &disk, THIRD), -1);
    shell("qemu-img create -q -f raw %s 64M", path_of(scene, FIRST));
    ck_assert_int_eq(snapshot(scene, &disk, FIRST), -1);
    ck_assert_str_eq(chain_of(scene), BASE);
    ck_assert_int_eq(scene_found(scene).capacity, 64 * MIB);
    scene_end(scene);
}
END_TEST

START_TEST(a_guest_that_is_off_is_left_alone) {
    struct scene *scene = scene_running();
    struct disk disk = scene_found(scene);
    const char *before;

    make_overlay(FIRST, BASE, 64);
    stop(scene);
    before = definition(scene);
    ck_assert_int_eq(snapshot(scene, &disk, FIRST), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(begin_merge(scene, &disk, NULL, NULL), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
    ck_assert_str_eq(definition(scene), before);
    scene_end(scene);
}
END_TEST

/* ---- merges ---- */

/* The remaining images work without the one that went, also for a guest that starts again. */
static void check_merged(struct scene *scene, const char *gone, const char *chain) {
    await_chain(scene, chain);
    guest_write(scene, 5);
    stop(scene);
    remove_files(gone);
    assert_content(THIRD, "qcow2", 5);
    start(scene);
    ck_assert_str_eq(chain_of(scene), chain);
    stop(scene);
}

START_TEST(the_middle_image_is_committed) {
    struct scene *scene = scene_running();
    struct disk disk;

    make_chain(scene);
    disk = scene_found(scene);
    ck_assert_int_eq(begin_merge(scene, &disk, SECOND, FIRST), 0);
    check_merged(scene, SECOND, THIRD " " FIRST " " BASE);
    assert_content(BASE, "raw", 1);
    assert_content(FIRST, "qcow2", 3);
    assert_below(THIRD, FIRST, "qcow2");
    scene_end(scene);
}
END_TEST

START_TEST(the_oldest_overlay_is_committed) {
    struct scene *scene = scene_running();
    struct disk disk;

    make_chain(scene);
    disk = scene_found(scene);
    ck_assert_int_eq(begin_merge(scene, &disk, FIRST, BASE), 0);
    check_merged(scene, FIRST, THIRD " " SECOND " " BASE);
    assert_content(BASE, "raw", 2);
    assert_content(SECOND, "qcow2", 3);
    assert_below(SECOND, BASE, "raw");
    scene_end(scene);
}
END_TEST

START_TEST(the_newest_image_is_pulled) {
    struct scene *scene = scene_running();
    struct disk disk;

    make_chain(scene);
    disk = scene_found(scene);
    ck_assert_int_eq(begin_merge(scene, &disk, NULL, FIRST), 0);
    check_merged(scene, SECOND, THIRD " " FIRST " " BASE);
    assert_content(BASE, "raw", 1);
    assert_content(FIRST, "qcow2", 2);
    assert_below(THIRD, FIRST, "qcow2");
    scene_end(scene);
}
END_TEST

START_TEST(all_images_are_merged_one_by_one) {
    struct scene *scene = scene_running();
    struct disk disk;

    make_chain(scene);
    disk = scene_found(scene);
    ck_assert_int_eq(begin_merge(scene, &disk, SECOND, FIRST), 0);
    await_chain(scene, THIRD " " FIRST " " BASE);
    ck_assert_int_eq(begin_merge(scene, &disk, NULL, BASE), 0);
    await_chain(scene, THIRD " " BASE);
    ck_assert_int_eq(begin_merge(scene, &disk, NULL, NULL), 0);
    check_merged(scene, "volume-" VOLUME ".[ab]* " BASE, THIRD);
    scene_end(scene);
}
END_TEST

/* Another snapshot was taken since, or the images are not there any more. */
START_TEST(a_late_merge_changes_nothing) {
    struct scene *scene = scene_running();
    struct disk before, now;

    guest_write(scene, 1);
    take_snapshot(scene, FIRST, BASE);
    before = scene_found(scene);
    take_snapshot(scene, SECOND, FIRST);
    now = scene_found(scene);
    ck_assert_int_eq(begin_merge(scene, &before, NULL, NULL), -1);
    ck_assert_int_eq(begin_merge(scene, &before, FIRST, BASE), -1);
    ck_assert_int_eq(begin_merge(scene, &now, THIRD, BASE), -1);
    ck_assert_int_eq(begin_merge(scene, &now, NULL, THIRD), -1);
    ck_assert(!scene_found(scene).job);
    ck_assert_str_eq(chain_of(scene), SECOND " " FIRST " " BASE);
    scene_end(scene);
}
END_TEST

/* It ends, or has ended, somewhere in the middle: the readable content stays the same. */
START_TEST(a_guest_that_stops_in_the_middle_loses_nothing) {
    static const char *const merges[][2] = { { SECOND, FIRST }, { FIRST, BASE }, { NULL, FIRST } };
    struct scene *scene = scene_running();
    struct disk disk;

    make_chain(scene);
    disk = scene_found(scene);
    ck_assert_int_eq(begin_merge(scene, &disk, merges[_i][0], merges[_i][1]), 0);
    stop(scene);
    assert_content(THIRD, "qcow2", 4);
    start(scene);
    ck_assert_ptr_nonnull(strstr(chain_of(scene), BASE));
    scene_end(scene);
}
END_TEST

static bool lies_above(struct scene *scene, const char *name, const char *wanted) {
    const char *below;
    int64_t capacity;

    return image_layer(scene->arena, path_of(scene, name), &capacity, &below, &scene->err) == 0 &&
           strcmp(below, wanted) == 0;
}

/* The guest goes on with it.  The daemon that comes back knows how it ended, unless it was killed
 * in just that moment: then the header decides. */
START_TEST(a_daemon_that_dies_in_the_middle_finds_it_again) {
    const char *after = THIRD " " FIRST " " BASE;
    struct scene *scene = scene_running();
    struct disk disk;

    make_chain(scene);
    disk = scene_found(scene);
    ck_assert_int_eq(begin_merge(scene, &disk, SECOND, FIRST), 0);
    virConnectClose(scene->control);
    ck_assert(daemon_command('k'));
    ck_assert(daemon_command('s'));
    ck_assert(daemon_await());
    scene->control = virConnectOpen(guests_uri);
    while (strcmp(chain_of(scene), after) != 0 && !lies_above(scene, THIRD, FIRST))
        take_a_breath();
    disk = scene_found(scene);
    if (strcmp(chain_of(scene), after) == 0) {
        check_merged(scene, SECOND, after);
    } else if (!disk.job) {
        guest_write(scene, 5);
        stop(scene);
        assert_content(THIRD, "qcow2", 5);
    } else {
        await_chain(scene, after);
    }
    scene_end(scene);
}
END_TEST

/* ---- the agent ---- */

static struct agent *agent_over(struct scene *scene, struct script_server *server) {
    struct agent_settings settings = {
        .host = "here",
        .volume_url = arena_format(scene->arena, "%s/v3", script_server_url(server)),
        .own_url = "http://here/v2.1",
        .hypervisor = scene->hypervisor,
        .retry_ms = 50,
    };
    struct agent *agent;

    script_server_add(server,
                      &(struct script_rule){ .path = "/v3/volumes/" VOLUME,
                                             .status = 200,
                                             .body = "{\"volume\": {\"id\": \"" VOLUME
                                                     "\", \"status\": \"extending\", \"size\": 1,"
                                                     " \"metadata\": {\"extend_new_size\":"
                                                     " \"2\"}}}" });
    script_server_add(server, &(struct script_rule){ .path = "/v3/volumes/detail*",
                                                     .status = 200,
                                                     .body = "{\"volumes\": []}" });
    script_server_add(server, &(struct script_rule){ .status = 202 });
    ck_assert_int_eq(agent_start(&settings, &agent, &scene->err), 0);
    return agent;
}

static void send_request(struct agent *agent, const char *method, const char *path,
                         const char *query, const char *body, int status) {
    static const struct http_header headers[] = { { "OpenStack-API-Version", "compute 2.93" },
                                                  { 0 } };
    struct test_exchange *test = test_exchange_new(method, path, headers, body);

    test_exchange_of(test)->query = query;
    agent_handle(agent, test_exchange_of(test));
    ck_assert_int_eq(test_exchange_await(test), status);
    test_exchange_free(test);
}

static void await_jobs(struct agent *agent) {
    const struct timespec pause = { .tv_nsec = 20000000 };

    while (agent_open_jobs(agent) > 0)
        nanosleep(&pause, NULL);
}

static void request_snapshot(struct agent *agent, const char *name) {
    char body[600];

    snprintf(body, sizeof(body),
             "{\"snapshot\": {\"volume_id\": \"" VOLUME "\", \"create_info\": {\"snapshot_id\": "
             "\"" SNAPSHOT "\", \"type\": \"qcow2\", \"new_file\": \"%s\"}}}",
             name);
    send_request(agent, "POST", "/v2.1/os-assisted-volume-snapshots", "", body, 200);
    await_jobs(agent);
}

static void request_merge(struct agent *agent, const char *file, const char *target) {
    char query[600];

    snprintf(query, sizeof(query),
             "delete_info={\"volume_id\":\"" VOLUME "\",\"type\":\"qcow2\",\"file_to_merge\":%s,"
             "\"merge_target_file\":%s}",
             file, target);
    send_request(agent, "DELETE", "/v2.1/os-assisted-volume-snapshots/" SNAPSHOT, query, NULL, 204);
    await_jobs(agent);
}

static void assert_last_report(struct script_server *server, const char *status) {
    unsigned count = script_server_count(server, "POST", ACTION);
    const char *body = script_server_request(server, "POST", ACTION, count - 1)->body;

    ck_assert_msg(strstr(body, status) && strstr(body, "90%"), "%s", body);
}

START_TEST(the_agent_takes_and_merges_snapshots) {
    struct scene *scene = scene_running();
    struct script_server *server = script_server_new();
    struct agent *agent = agent_over(scene, server);

    guest_write(scene, 1);
    make_overlay(FIRST, BASE, 64);
    request_snapshot(agent, FIRST);
    assert_last_report(server, "creating");
    guest_write(scene, 2);
    make_overlay(SECOND, FIRST, 64);
    request_snapshot(agent, SECOND);
    assert_last_report(server, "creating");
    guest_write(scene, 3);
    make_overlay(THIRD, SECOND, 64);
    request_snapshot(agent, THIRD);
    request_snapshot(agent, THIRD); /* again */
    assert_last_report(server, "creating");
    guest_write(scene, 4);
    ck_assert_str_eq(chain_of(scene), THIRD " " SECOND " " FIRST " " BASE);
    for (int again = 0; again < 2; again++) {
        request_merge(agent, "\"" SECOND "\"", "\"" FIRST "\"");
        assert_last_report(server, "\"deleting\"");
        ck_assert_str_eq(chain_of(scene), THIRD " " FIRST " " BASE);
    }
    request_merge(agent, "\"" BASE "\"", "null");
    assert_last_report(server, "\"deleting\"");
    ck_assert_str_eq(chain_of(scene), THIRD " " BASE);
    for (int again = 0; again < 2; again++) {
        request_merge(agent, "null", "null");
        assert_last_report(server, "\"deleting\"");
        ck_assert_str_eq(chain_of(scene), THIRD);
    }
    guest_write(scene, 5);
    request_snapshot(agent, FIRST); /* of before: it lies above another image */
    assert_last_report(server, "\"error\"");
    remove_files(FIRST);
    request_snapshot(agent, FIRST);
    assert_last_report(server, "\"error\"");
    stop(scene);
    assert_content(THIRD, "qcow2", 5);
    agent_stop(agent);
    script_server_free(server);
    scene_end(scene);
}
END_TEST

/* R50 on a chain: the overlay that is on top grows, and the images below stay. */
START_TEST(the_agent_extends_a_chain) {
    struct scene *scene = scene_running();
    struct script_server *server = script_server_new();
    struct agent *agent = agent_over(scene, server);

    guest_write(scene, 1);
    make_overlay(FIRST, BASE, 64);
    request_snapshot(agent, FIRST);
    guest_write(scene, 2);
    send_request(agent, "POST", "/v2.1/os-server-external-events", "",
                 "{\"events\": [{\"name\": \"volume-extended\", \"server_uuid\": \"" INSTANCE
                 "\", \"tag\": \"" VOLUME "\"}]}",
                 200);
    ck_assert(script_server_await(server, "POST", "/v3/volumes/" VOLUME "/action", 1));
    ck_assert_ptr_nonnull(
        strstr(script_server_request(server, "POST", "/v3/volumes/" VOLUME "/action", 0)->body,
               "\"error\": false"));
    await_jobs(agent);
    ck_assert_int_eq(scene_found(scene).capacity, 2048 * MIB);
    ck_assert_str_eq(chain_of(scene), FIRST " " BASE);
    make_overlay(SECOND, FIRST, 2048);
    request_snapshot(agent, SECOND);
    guest_write(scene, 3);
    request_merge(agent, "\"" FIRST "\"", "\"" BASE "\""); /* of 2 GiB, into the one of 64 MiB */
    assert_last_report(server, "\"deleting\"");
    ck_assert_str_eq(chain_of(scene), SECOND " " BASE);
    ck_assert_int_eq(scene_found(scene).capacity, 2048 * MIB);
    stop(scene);
    assert_content(SECOND, "qcow2", 3);
    agent_stop(agent);
    script_server_free(server);
    scene_end(scene);
}
END_TEST

/* ---- queries at any time ---- */

static atomic_bool is_over;

/* The calls of an agent that has just started and of one that follows a merge. */
static void *query_guest(void *arg) {
    struct hypervisor *hypervisor = arg;
    struct error err = { 0 };
    struct disk disk;

    while (!is_over) {
        autoarena struct arena *arena = arena_new();

        hypervisor->remove_guards(hypervisor, arena, INSTANCE, &err);
        hypervisor->find_disk(hypervisor, arena, INSTANCE, VOLUME, &disk, &err);
    }
    return NULL;
}

/* QEMU 7.2 crashes when its nodes are queried while a merge ends. */
START_TEST(a_guest_survives_queries_while_merges_end) {
    struct scene *scene = scene_running();
    const char *below = BASE;
    pthread_t thread;

    is_over = false;
    ck_assert_int_eq(pthread_create(&thread, NULL, query_guest, scene->hypervisor), 0);
    for (unsigned i = 0; i < 40; i++) {
        const char *name =
            arena_format(scene->arena, BASE ".aaaaaaaa-5555-4555-8555-5555555555%02x", i);
        struct disk disk;

        take_snapshot(scene, name, below);
        guest_write(scene, 1);
        disk = scene_found(scene);
        while (begin_merge(scene, &disk, NULL, NULL) < 0) {
            ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
            take_a_breath();
        }
        await_chain(scene, name);
        below = name;
    }
    is_over = true;
    pthread_join(thread, NULL);
    scene_end(scene);
}
END_TEST

/* clang-format off */
GUESTS_MAIN("libvirt_blocks", "log_filters = \"2:qemu.qemu_monitor\"\n",
            { a_guest_goes_on_in_each_new_overlay, 1 },
            { the_definition_names_the_overlay_too, 1 },
            { other_disks_stay_as_they_are, 1 },
            { several_disks_go_on_in_overlays_at_one_moment, 1 },
            { a_late_snapshot_changes_nothing, 1 },
            { an_overlay_of_another_image_is_refused, 1 },
            { a_guest_that_is_off_is_left_alone, 1 },
            { the_middle_image_is_committed, 1 },
            { the_oldest_overlay_is_committed, 1 },
            { the_newest_image_is_pulled, 1 },
            { all_images_are_merged_one_by_one, 3 },
            { a_late_merge_changes_nothing, 1 },
            { a_guest_that_stops_in_the_middle_loses_nothing, 3 },
            { a_daemon_that_dies_in_the_middle_finds_it_again, 1 },
            { the_agent_takes_and_merges_snapshots, 1 },
            { the_agent_extends_a_chain, 1 },
            { a_guest_survives_queries_while_merges_end, 1 })
/* clang-format on */

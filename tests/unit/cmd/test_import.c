/*
 * scoria manage import-cinder against an SQLite database with Cinder's columns;
 * tests/conformance/cinder has the database that Cinder itself makes.
 */
#include "common/gib.h"
#include "tests/unit/cmd/cmd_test.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <jansson.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define TYPE     "00000000-0000-4000-8000-0000000000a1"
#define RAW      "00000000-0000-4000-8000-000000000001"
#define CHAIN    "00000000-0000-4000-8000-000000000002"
#define RENAMED  "00000000-0000-4000-8000-000000000003"
#define NEW_NAME "00000000-0000-4000-8000-000000000033"
#define SNAPSHOT "00000000-0000-4000-8000-0000000000b1"
#define SERVER   "00000000-0000-4000-8000-0000000000c1"
#define ATTACHED "00000000-0000-4000-8000-0000000000d1"
#define NOW      "'2026-01-02 03:04:05.000000'"

static const char schema[] =
    "CREATE TABLE quality_of_service_specs (id, specs_id, \"key\", value, created_at, deleted);"
    "CREATE TABLE volume_types (id, name, description, is_public, qos_specs_id, created_at, "
    "updated_at, deleted);"
    "CREATE TABLE volume_type_extra_specs (volume_type_id, \"key\", value, deleted);"
    "CREATE TABLE volume_type_projects (volume_type_id, project_id, deleted);"
    "CREATE TABLE encryption (volume_type_id, encryption_id, provider, control_location, cipher, "
    "key_size, created_at, deleted);"
    "CREATE TABLE default_volume_types (project_id, volume_type_id, deleted);"
    "CREATE TABLE quotas (project_id, resource, hard_limit, deleted);"
    "CREATE TABLE quota_classes (class_name, resource, hard_limit, deleted);"
    "CREATE TABLE volumes (id, _name_id, project_id DEFAULT 'p', user_id DEFAULT 'u', "
    "host DEFAULT 'ctrl@nfs-1#share', availability_zone DEFAULT 'nova', display_name, "
    "display_description, size DEFAULT 1, status DEFAULT 'available', "
    "attach_status DEFAULT 'detached', migration_status, replication_status, "
    "volume_type_id DEFAULT '" TYPE "', snapshot_id, source_volid, group_id, consistencygroup_id, "
    "bootable DEFAULT 0, multiattach DEFAULT 0, use_quota DEFAULT 1, shared_targets DEFAULT 0, "
    "encryption_key_id, provider_location DEFAULT 'server:/share', provider_id, "
    "created_at DEFAULT " NOW ", updated_at, launched_at, deleted DEFAULT 0);"
    "CREATE TABLE volume_metadata (volume_id, \"key\", value, deleted);"
    "CREATE TABLE volume_admin_metadata (volume_id, \"key\", value, deleted);"
    "CREATE TABLE volume_glance_metadata (volume_id, \"key\", value, deleted);"
    "CREATE TABLE volume_attachment (volume_id, id, instance_uuid, attached_host, mountpoint, "
    "attach_status, attach_mode, connector, connection_info, attach_time, created_at, updated_at, "
    "deleted);"
    "CREATE TABLE snapshots (volume_id, id, project_id, user_id, display_name, "
    "display_description, volume_size, status, use_quota, encryption_key_id, group_snapshot_id, "
    "cgsnapshot_id, created_at, updated_at, deleted);"
    "CREATE TABLE snapshot_metadata (snapshot_id, \"key\", value, deleted);"
    "CREATE TABLE \"groups\" (id, deleted); CREATE TABLE backups (id, deleted);"
    "CREATE TABLE transfers (id, deleted);"
    "CREATE TABLE alembic_version (version_num);"
    "CREATE TABLE services (updated_at, host, \"binary\", deleted);";

static const char contents[] =
    "INSERT INTO alembic_version VALUES ('c92a3e68beed');"
    "INSERT INTO services VALUES (" NOW ", 'ctrl@nfs-1', 'cinder-volume', 0),"
    "(NULL, 'ctrl', 'cinder-scheduler', 0), (CURRENT_TIMESTAMP, 'gone', 'cinder-backup', 1);"
    "INSERT INTO volume_types VALUES ('" TYPE "', '__DEFAULT__', NULL, 1, NULL, " NOW ", NULL, 0);"
    "INSERT INTO volume_type_extra_specs VALUES ('" TYPE "', 'a', 'b', 0), "
    "('" TYPE "', 'old', 'x', 1);"
    "INSERT INTO quotas VALUES ('p', 'volumes', 7, 0), ('p', 'volumes___DEFAULT__', 5, 0), "
    "('p', 'consistencygroups', 3, 0);"
    "INSERT INTO volumes (id, display_name) VALUES ('" RAW "', 'raw');"
    "INSERT INTO volumes (id, status, attach_status) VALUES ('" CHAIN "', 'in-use', 'attached');"
    "INSERT INTO volumes (id, _name_id) VALUES ('" RENAMED "', '" NEW_NAME "');"
    "INSERT INTO volumes (id, deleted) VALUES ('00000000-0000-4000-8000-000000000009', 1);"
    "INSERT INTO volume_metadata VALUES ('" RAW "', 'of', 'user', 0);"
    "INSERT INTO volume_admin_metadata VALUES ('" RAW "', 'format', 'raw', 0), "
    "('" RAW "', 'readonly', 'True', 0);"
    "INSERT INTO volume_attachment VALUES ('" CHAIN "', '" ATTACHED "', '" SERVER
    "', 'compute', '/dev/vdb', 'attached', 'rw', '{\"host\": \"compute\"}', "
    "'{\"driver_volume_type\": \"nfs\"}', " NOW ", " NOW ", NULL, 0);"
    "INSERT INTO snapshots VALUES ('" CHAIN "', '" SNAPSHOT "', 'p', 'u', 'snap', NULL, 1, "
    "'available', 1, NULL, NULL, NULL, " NOW ", NULL, 0);"
    "INSERT INTO backups VALUES ('b', 0);";

static const char *in_home(const struct home *home, const char *name) {
    static char path[8][256];
    static unsigned next;
    char *text = path[next++ % LENGTH(path)];

    snprintf(text, sizeof path[0], "%s/%s", home->path, name);
    return text;
}

static void sql(const struct home *home, const char *text) {
    sqlite3 *db;
    char *why = NULL;

    ck_assert_int_eq(sqlite3_open(in_home(home, "cinder.db"), &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, text, NULL, NULL, &why) == SQLITE_OK, "%s", why);
    sqlite3_close(db);
}

/* One row of this service's database, its columns joined by '|'; "" without one. */
static const char *ours(const struct home *home, const char *text) {
    static char row[1024];
    sqlite3_stmt *statement;
    sqlite3 *db;

    row[0] = '\0';
    ck_assert_int_eq(sqlite3_open(in_home(home, "scoria.db"), &db), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(db, text, -1, &statement, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    if (sqlite3_step(statement) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *cell = (const char *)sqlite3_column_text(statement, i);

            snprintf(row + strlen(row), sizeof row - strlen(row), "%s%s", i ? "|" : "",
                     cell ? cell : "-");
        }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return row;
}

static void change_ours(const struct home *home, const char *text) {
    sqlite3 *db;
    char *why = NULL;

    ck_assert_int_eq(sqlite3_open(in_home(home, "scoria.db"), &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, text, NULL, NULL, &why) == SQLITE_OK, "%s", why);
    sqlite3_close(db);
}

static void put_file(const struct home *home, const char *name, int64_t size) {
    int fd = open(in_home(home, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0660);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, size), 0);
    close(fd);
}

static void put_chain(const struct home *home) {
    char command[1024];
    FILE *info = fopen(in_home(home, "share/volume-" CHAIN ".info"), "we");

    put_file(home, "share/volume-" CHAIN, GIB);
    snprintf(command, sizeof command,
             "cd %s/share && qemu-img create -q -f qcow2 -b volume-" CHAIN " -F raw volume-" CHAIN
             "." SNAPSHOT,
             home->path);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c): fixed words of this test */
    ck_assert_ptr_nonnull(info);
    fputs("{\"active\": \"volume-" CHAIN "." SNAPSHOT "\", \"" SNAPSHOT "\": \"volume-" CHAIN
          "." SNAPSHOT "\"}",
          info);
    fclose(info);
}

static void begin(struct home *home) {
    home_make(home);
    ck_assert_int_eq(mkdir(in_home(home, "share"), 0700), 0);
    put_file(home, "share/volume-" RAW, GIB);
    put_file(home, "share/volume-" NEW_NAME, 2 * GIB);
    put_chain(home);
    sql(home, schema);
    sql(home, contents);
    ck_assert_int_eq(program_output(home, "manage db sync")->status, EXIT_SUCCESS);
}

#define BACKEND " --enabled_backends=nfs-1 --nfs-1.file_volume_directory="

static const struct output *run(const struct home *home, const char *command, const char *more) {
    char line[1024];

    snprintf(line, sizeof line, "manage %s%s%s%s", command, BACKEND, in_home(home, "share"), more);
    return program_output(home, line);
}

static const struct output *import(const struct home *home, const char *more) {
    char command[512];

    snprintf(command, sizeof command, "import-cinder sqlite:///%s%s", in_home(home, "cinder.db"),
             more);
    return run(home, command, "");
}

static void assert_clean(const struct home *home) {
    const struct output *output = run(home, "check", "");

    ck_assert_msg(output->status == EXIT_SUCCESS, "%s%s", output->text, output->error);
}

START_TEST(a_dry_run_lists_and_writes_nothing) {
    autohome struct home home;
    const struct output *output;

    begin(&home);
    output = import(&home, "");
    ck_assert_msg(output->status == EXIT_SUCCESS, "%s", output->error);
    assert_has(output->text, RAW "  raw");
    assert_has(output->text, "6 would be taken, 0 present, 1 would be left");
    assert_has(output->text, "1 backups");
    ck_assert_str_eq(ours(&home, "SELECT id FROM volumes"), "");
    ck_assert_str_eq(ours(&home, "SELECT project_id FROM quotas"), "");
}
END_TEST

START_TEST(objects_keep_their_ids_and_a_check_finds_nothing) {
    autohome struct home home;
    char expected[512];

    begin(&home);
    assert_has(import(&home, " --apply")->text, "6 taken, 0 present, 1 left");
    snprintf(expected, sizeof expected, "%s/share|raw|available|raw|1|1|1767323045000000|" TYPE,
             home.path);
    ck_assert_str_eq(ours(&home, "SELECT provider_location, display_name, status, format, size_gb, "
                                 "largest_gb, created_at, volume_type_id FROM volumes "
                                 "WHERE id = '" RAW "'"),
                     expected);
    ck_assert_str_eq(
        ours(&home, "SELECT name_id, largest_gb FROM volumes WHERE id = '" RENAMED "'"),
        NEW_NAME "|2");
    ck_assert_str_eq(ours(&home, "SELECT id, volume_id, instance_uuid, attached_host, "
                                 "attach_status, connector FROM attachments"),
                     ATTACHED "|" CHAIN "|" SERVER "|compute|attached|{\"host\": \"compute\"}");
    ck_assert_str_eq(ours(&home, "SELECT id, volume_id, status, format, size_gb, use_quota "
                                 "FROM snapshots"),
                     SNAPSHOT "|" CHAIN "|available|raw|1|1");
    ck_assert_str_eq(ours(&home, "SELECT key, value FROM volume_metadata"), "of|user");
    ck_assert_str_eq(ours(&home, "SELECT key, value FROM volume_admin_metadata"), "readonly|True");
    ck_assert_str_eq(ours(&home, "SELECT id, name FROM volume_types"), TYPE "|__DEFAULT__");
    ck_assert_str_eq(ours(&home, "SELECT key, value FROM volume_type_extra_specs"), "a|b");
    ck_assert_str_eq(ours(&home, "SELECT used FROM quota_usages WHERE project_id = 'p' AND "
                                 "resource = 'gigabytes'"),
                     "4");
    ck_assert_str_eq(ours(&home, "SELECT hard_limit FROM quotas WHERE resource = "
                                 "'volumes___DEFAULT__'"),
                     "5");
    assert_clean(&home);
}
END_TEST

START_TEST(a_second_import_keeps_all_present_objects) {
    autohome struct home home;

    begin(&home);
    import(&home, " --apply");
    sql(&home, "UPDATE quotas SET hard_limit = 99; UPDATE volumes SET display_name = 'later'");
    assert_has(import(&home, " --apply")->text, "0 taken, 6 present, 1 left");
    ck_assert_str_eq(ours(&home, "SELECT display_name FROM volumes WHERE id = '" RAW "'"), "raw");
    ck_assert_str_eq(ours(&home, "SELECT hard_limit FROM quotas WHERE resource = 'volumes'"), "7");
    assert_clean(&home);
}
END_TEST

static void assert_left(const struct home *home, const char *why) {
    const struct output *output = import(home, " --apply");

    ck_assert_msg(output->status == EXIT_SUCCESS && strstr(output->text, why), "%s%s\n%s",
                  output->text, output->error, why);
    ck_assert_str_eq(ours(home, "SELECT id FROM volumes WHERE id = '" RAW "'"), "");
    ck_assert_str_ne(ours(home, "SELECT id FROM volumes WHERE id = '" CHAIN "'"), "");
}

#define OF_RAW " WHERE id = '" RAW "'"

START_TEST(each_volume_that_is_left_has_a_reason) {
    static const char *const rows[][2] = {
        { "UPDATE volumes SET status = 'extending'" OF_RAW, "it is extending" },
        { "UPDATE volumes SET migration_status = 'migrating'" OF_RAW, "being migrated" },
        { "UPDATE volumes SET encryption_key_id = 'k'" OF_RAW, "it is encrypted" },
        { "UPDATE volumes SET group_id = 'g'" OF_RAW, "in group g" },
        { "UPDATE volumes SET host = 'ctrl@lvm#lvm'" OF_RAW,
          "backend ctrl@lvm#lvm is none of enabled_backends" },
        { "UPDATE volumes SET volume_type_id = 'gone'" OF_RAW, "its type is not taken" },
        { "UPDATE volumes SET _name_id = 'gone'" OF_RAW,
          "/share: The file \"volume-gone\" is missing" },
        { "UPDATE volumes SET _name_id = '" CHAIN "'" OF_RAW, "its file is that of volume " CHAIN },
        { "UPDATE volumes SET size = 3" OF_RAW, "volume-" RAW " on " },
        { "INSERT INTO snapshots (volume_id, id, project_id, status, deleted) VALUES ('" RAW
          "', 's', 'p', 'creating', 0)",
          "snapshot s is creating" },
        { "UPDATE volumes SET status = 'in-use'" OF_RAW, "without an attachment" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autohome struct home home;

        begin(&home);
        sql(&home, rows[i][0]);
        assert_left(&home, rows[i][1]);
    }
}
END_TEST

START_TEST(a_volume_that_was_left_is_taken_when_the_reason_is_gone) {
    autohome struct home home;

    begin(&home);
    sql(&home, "UPDATE volumes SET status = 'extending'" OF_RAW);
    assert_left(&home, "it is extending");
    sql(&home, "UPDATE volumes SET status = 'available'" OF_RAW);
    assert_has(import(&home, " --apply")->text, "1 taken, 5 present, 1 left");
    ck_assert_str_eq(ours(&home, "SELECT used FROM quota_usages WHERE project_id = 'p' AND "
                                 "resource = 'volumes'"),
                     "3");
    assert_clean(&home);
}
END_TEST

#define CONNECTED "UPDATE volume_attachment SET connection_info = "

/* A server's next start follows it. */
START_TEST(a_connection_that_names_another_file_keeps_its_volume) {
    static const char *const rows[][2] = {
        { CONNECTED "'{\"name\": \"volume-" CHAIN "\"}'", "connects the file volume-" CHAIN },
        { CONNECTED "'{\"data\": {\"name\": \"volume-" CHAIN "\"}}'",
          "connects the file volume-" CHAIN },
        { "UPDATE volume_attachment SET volume_id = '" RAW "', "
          "connection_info = '{\"name\": \"volume-" RAW "\", \"format\": \"qcow2\"}';"
          "UPDATE volumes SET status = 'in-use'" OF_RAW,
          "connects a qcow2 file, which is raw" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autohome struct home home;

        begin(&home);
        sql(&home, rows[i][0]);
        assert_has(import(&home, " --apply")->text, rows[i][1]);
        ck_assert_str_eq(ours(&home, "SELECT id FROM attachments"), "");
    }
}
END_TEST

/* Cinder keeps that of the first connection. */
START_TEST(a_connection_of_an_overlay_gets_its_format) {
    autohome struct home home;

    begin(&home);
    sql(&home, CONNECTED "'{\"name\": \"volume-" CHAIN "." SNAPSHOT "\", \"format\": \"raw\"}'");
    assert_has(import(&home, " --apply")->text, "6 taken");
    ck_assert_str_eq(ours(&home, "SELECT connection_info FROM attachments"),
                     "{\"name\":\"volume-" CHAIN "." SNAPSHOT "\",\"format\":\"qcow2\"}");
}
END_TEST

/* The other objects are taken.  A dry run finds the id of another object, too. */
START_TEST(a_row_that_cannot_be_taken_is_left_alone) {
    static const char *const rows[][2] = {
        { "INSERT INTO volume_admin_metadata VALUES ('" RAW "', NULL, 'x', 0), (NULL, 'k', 'x', 0);"
          "INSERT INTO volume_metadata VALUES ('" RAW "', NULL, 'x', 0), (NULL, 'k', 'x', 0);"
          "INSERT INTO volume_type_projects VALUES (NULL, 'p', 0), ('" TYPE "', NULL, 0);"
          "INSERT INTO encryption (encryption_id, deleted) VALUES ('e', 0);",
          "6 taken" },
        { "INSERT INTO quotas VALUES (NULL, 'volumes', 3, 0)", "it has no owner" },
        { "INSERT INTO quotas VALUES ('q', NULL, 3, 0)", "it has no owner" },
        { "INSERT INTO quotas VALUES ('q', 'volumes', -2, 0)", "less than -1" },
        { "INSERT INTO quota_classes VALUES ('default', 'volumes', -2, 0)", "less than -1" },
        { "INSERT INTO volume_types VALUES ('t', NULL, NULL, 1, NULL, NULL, NULL, 0)",
          "it has no name" },
        { "INSERT INTO quality_of_service_specs VALUES ('q', NULL, 'QoS_Specs_Name', NULL, NULL, 0)",
          "it has no name" },
        { "INSERT INTO volume_types VALUES ('t', 't', NULL, 1, NULL, NULL, NULL, 0);"
          "INSERT INTO encryption (volume_type_id, encryption_id, deleted) VALUES ('t', 'e', 0)",
          "NOT NULL" },
        { "UPDATE volumes SET status = 'in-use'" OF_RAW ";"
          "INSERT INTO volume_attachment (volume_id, id, attach_status, deleted) VALUES "
          "('" RAW "', '" ATTACHED "', 'attached', 0)",
          "attachment " ATTACHED " is there" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autohome struct home home;
        const struct output *output;

        begin(&home);
        sql(&home, rows[i][0]);
        ck_assert_int_eq(import(&home, "")->status, EXIT_SUCCESS);
        output = import(&home, " --apply");
        ck_assert_msg(output->status == EXIT_SUCCESS && strstr(output->text, rows[i][1]),
                      "%s%s\n%s", output->text, output->error, rows[i][1]);
        ck_assert_str_ne(ours(&home, "SELECT id FROM volumes WHERE id = '" RENAMED "'"), "");
        if (i == LENGTH(rows) - 1)
            assert_has(import(&home, "")->text, rows[i][1]);
    }
}
END_TEST

START_TEST(a_name_that_is_no_utf8_is_in_the_list) {
    autohome struct home home;

    begin(&home);
    sql(&home, "UPDATE volumes SET display_name = CAST(x'41ff42' AS TEXT)" OF_RAW);
    assert_has(import(&home, " --format=json")->text, "\"A?B\"");
}
END_TEST

START_TEST(an_object_counts_unless_its_row_or_its_metadata_exclude_it) {
    static const char *const rows[][2] = {
        { "UPDATE volumes SET use_quota = NULL" OF_RAW, "1" },
        { "UPDATE volumes SET use_quota = 0" OF_RAW, "0" },
        { "UPDATE volumes SET use_quota = NULL" OF_RAW ";"
          "INSERT INTO volume_admin_metadata VALUES ('" RAW "', 'temporary', 'True', 0)",
          "0" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autohome struct home home;

        begin(&home);
        sql(&home, rows[i][0]);
        sql(&home, "UPDATE snapshots SET use_quota = NULL");
        import(&home, " --apply");
        ck_assert_str_eq(ours(&home, "SELECT use_quota FROM volumes" OF_RAW), rows[i][1]);
        ck_assert_str_eq(ours(&home, "SELECT use_quota FROM snapshots"), "1");
        assert_clean(&home);
    }
}
END_TEST

START_TEST(a_type_without_its_qos_specs_is_left_with_its_volumes) {
    autohome struct home home;
    const struct output *output;

    begin(&home);
    sql(&home, "INSERT INTO quality_of_service_specs VALUES "
               "('q', NULL, 'QoS_Specs_Name', 'limit', NULL, 0);"
               "UPDATE volume_types SET qos_specs_id = 'q'");
    change_ours(&home, "INSERT INTO qos_specs (id, name, consumer, created_at) "
                       "VALUES ('other', 'limit', 'front-end', 1)");
    assert_has(import(&home, "")->text, "its QoS specs are not taken");
    output = import(&home, " --apply");
    assert_has(output->text, "its QoS specs are not taken");
    assert_has(output->text, "its type is not taken");
    change_ours(&home, "DELETE FROM qos_specs");
    import(&home, " --apply");
    ck_assert_str_eq(ours(&home, "SELECT qos_specs_id FROM volume_types"), "q");
    assert_clean(&home);
}
END_TEST

START_TEST(a_type_that_was_renamed_here_counts_by_its_name) {
    autohome struct home home;

    begin(&home);
    sql(&home, "UPDATE volumes SET status = 'extending' WHERE id = '" CHAIN "'");
    import(&home, " --apply");
    change_ours(&home, "UPDATE volume_types SET name = 'renamed';"
                       "UPDATE quota_usages SET resource = replace(resource, '__DEFAULT__', "
                       "'renamed')");
    sql(&home, "UPDATE volumes SET status = 'in-use' WHERE id = '" CHAIN "'");
    assert_has(import(&home, " --apply")->text, "1 taken");
    ck_assert_str_eq(ours(&home, "SELECT COUNT(*) FROM quota_usages WHERE resource LIKE "
                                 "'%DEFAULT%'"),
                     "0");
    assert_clean(&home);
}
END_TEST

/* Their order decides which one a revert takes, and their instants are of one second. */
START_TEST(snapshots_have_the_order_of_their_files) {
    static const char above[] = "volume-" CHAIN ".00000000-0000-4000-8000-0000000000b0";
    autohome struct home home;
    char command[1024];
    FILE *info;

    begin(&home);
    snprintf(command, sizeof command,
             "cd %s/share && qemu-img create -q -f qcow2 -b volume-" CHAIN "." SNAPSHOT
             " -F qcow2 %s",
             home.path, above);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c): fixed words of this test */
    info = fopen(in_home(&home, "share/volume-" CHAIN ".info"), "we");
    ck_assert_ptr_nonnull(info);
    fprintf(info,
            "{\"active\": \"%s\", \"" SNAPSHOT "\": \"volume-" CHAIN "." SNAPSHOT
            "\", \"00000000-0000-4000-8000-0000000000b0\": \"%s\"}",
            above, above);
    fclose(info);
    sql(&home, "INSERT INTO snapshots SELECT volume_id, '00000000-0000-4000-8000-0000000000b0', "
               "project_id, user_id, display_name, NULL, 1, status, 1, NULL, NULL, NULL, "
               "created_at, NULL, 0 FROM snapshots");
    assert_has(import(&home, " --apply")->text, "6 taken");
    ck_assert_str_eq(ours(&home, "SELECT id FROM snapshots ORDER BY asked_us LIMIT 1"), SNAPSHOT);
    assert_clean(&home);
}
END_TEST

/* The two are one file: a delete of one would remove the other. */
START_TEST(a_volume_with_the_name_of_another_is_left) {
    autohome struct home home;

    begin(&home);
    sql(&home, "UPDATE volumes SET id = '00000000-0000-4000-8000-000000000004', "
               "_name_id = '" NEW_NAME "'" OF_RAW);
    assert_has(import(&home, " --apply")->text, "another volume has the name " NEW_NAME);
    ck_assert_str_eq(ours(&home, "SELECT COUNT(*) FROM volumes WHERE name_id = '" NEW_NAME "'"),
                     "1");
    change_ours(&home, "UPDATE volumes SET name_id = '" CHAIN "' WHERE id = '" RENAMED "'");
    assert_has(run(&home, "check", "")->text,
               "P3  volume " RENAMED " has the object of another volume");
}
END_TEST

START_TEST(a_type_with_a_name_that_is_taken_is_left_with_its_volumes) {
    autohome struct home home;
    const struct output *output;
    const char *id = "00000000-0000-4000-8000-0000000000ff";

    begin(&home);
    change_ours(&home, "INSERT INTO volume_types (id, name, is_public, created_at) "
                       "VALUES ('00000000-0000-4000-8000-0000000000ff', 'fast', 1, 1)");
    sql(&home, "UPDATE volume_types SET name = 'fast'");
    output = import(&home, " --apply");
    assert_has(output->text, "another type has the name fast");
    assert_has(output->text, "its type is not taken");
    ck_assert_str_eq(ours(&home, "SELECT id FROM volume_types WHERE name = 'fast'"), id);
    ck_assert_str_eq(ours(&home, "SELECT id FROM volumes"), "");
}
END_TEST

START_TEST(a_backend_may_have_another_name_here) {
    autohome struct home home;

    begin(&home);
    sql(&home, "UPDATE volumes SET host = 'ctrl@old#pool'");
    assert_has(import(&home, "")->text, "backend ctrl@old#pool is none");
    assert_has(import(&home, " --backend=ctrl@old=nfs-1 --apply")->text, "6 taken");
    assert_clean(&home);
}
END_TEST

START_TEST(nothing_is_taken_while_cinder_runs) {
    autohome struct home home;

    begin(&home);
    sql(&home,
        "UPDATE services SET updated_at = datetime('now', '+50 seconds') WHERE host = 'ctrl@nfs-1'");
    assert_has(import(&home, "")->text, "6 would be taken");
    assert_has(import(&home, " --apply")->error, "Cinder is running: cinder-volume on ctrl@nfs-1");
    ck_assert_str_eq(ours(&home, "SELECT id FROM volumes"), "");
}
END_TEST

START_TEST(a_schema_of_another_release_is_refused) {
    static const char *const rows[][2] = {
        { "UPDATE alembic_version SET version_num = 'daa98075b90d'", "the schema daa98075b90d" },
        { "DELETE FROM alembic_version", "the schema of no release" },
        { "DROP TABLE alembic_version", "alembic_version" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autohome struct home home;

        begin(&home);
        sql(&home, rows[i][0]);
        assert_has(import(&home, "")->error, rows[i][1]);
        assert_has(import(&home, " --apply")->error, rows[i][1]);
    }
}
END_TEST

START_TEST(the_address_is_read_from_cinders_configuration) {
    autohome struct home home;
    FILE *file;
    char command[256];

    begin(&home);
    file = fopen(in_home(&home, "cinder.conf"), "we");
    fprintf(file,
            "[DEFAULT]\nconnection = no\n[database]\n# connection = x\nconnection=sqlite:///%s\n",
            in_home(&home, "cinder.db"));
    fclose(file);
    snprintf(command, sizeof command, "import-cinder %s", in_home(&home, "cinder.conf"));
    assert_has(run(&home, command, "")->text, "6 would be taken");
    assert_has(run(&home, "import-cinder /missing.conf", "")->error, "cannot read /missing.conf");
    assert_has(run(&home, "import-cinder oracle://x/y", "")->error, "must begin with");
    assert_has(run(&home, "import-cinder mysql://u:secret@h:1/d?tls=1", "")->error,
               "parameter tls");
    assert_has(run(&home, "import-cinder", "")->error, "is missing");
}
END_TEST

/* Greets as a server without TLS; ends with 1 if the client sends its login. */
static pid_t begin_server(int listener) {
    static const char greeting[] = "\x4b\0\0\0" /* its length */
                                   "\x0a"
                                   "10.11.0\0"
                                   "\1\0\0\0saltsalt\0"
                                   "\x09\x82\x2d\2\0\x08\0\x15" /* no CLIENT_SSL */
                                   "\0\0\0\0\0\0\0\0\0\0saltsaltsalt\0"
                                   "mysql_native_password";
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        char byte;
        int fd;

        alarm(60); /* without a client */
        fd = accept(listener, NULL, NULL);
        _exit(write(fd, greeting, sizeof greeting) == (ssize_t)sizeof greeting &&
              read(fd, &byte, 1) == 1);
    }
    return pid;
}

START_TEST(a_server_without_tls_gets_no_login_where_tls_is_configured) {
    static const struct {
        const char *host, *parameters;
        int logins;
    } rows[] = {
        { "127.0.0.1", "", 1 },
        { "localhost", "", 1 }, /* no socket of a file */
        { "127.0.0.1", "?ssl_ca=/ca.pem", 0 },
        { "127.0.0.1", "?ssl_cert=/cert.pem&ssl_key=/key.pem", 0 },
    };
    void *library = dlopen("libmariadb.so.3", RTLD_NOW);

    if (!library)
        return;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        autohome struct home home;
        struct sockaddr_in address = { .sin_family = AF_INET };
        socklen_t size = sizeof address;
        int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
        char command[256];
        pid_t server;

        begin(&home);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, size), 0);
        ck_assert_int_eq(listen(listener, 4), 0);
        ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
        server = begin_server(listener);
        close(listener);
        snprintf(command, sizeof command, "import-cinder mysql://c:pw@%s:%u/cinder%s", rows[i].host,
                 ntohs(address.sin_port), rows[i].parameters);
        assert_has(run(&home, command, "")->error, "MariaDB: ");
        ck_assert_int_eq(waitpid(server, &status, 0), server);
        ck_assert_msg(WEXITSTATUS(status) == rows[i].logins, "%zu: %d", i, WEXITSTATUS(status));
    }
}
END_TEST

CHECK_MAIN("import", a_dry_run_lists_and_writes_nothing,
           objects_keep_their_ids_and_a_check_finds_nothing,
           a_second_import_keeps_all_present_objects, each_volume_that_is_left_has_a_reason,
           a_volume_that_was_left_is_taken_when_the_reason_is_gone,
           a_volume_with_the_name_of_another_is_left, a_row_that_cannot_be_taken_is_left_alone,
           a_name_that_is_no_utf8_is_in_the_list,
           a_type_without_its_qos_specs_is_left_with_its_volumes,
           a_type_that_was_renamed_here_counts_by_its_name, snapshots_have_the_order_of_their_files,
           an_object_counts_unless_its_row_or_its_metadata_exclude_it,
           a_connection_that_names_another_file_keeps_its_volume,
           a_connection_of_an_overlay_gets_its_format,
           a_type_with_a_name_that_is_taken_is_left_with_its_volumes,
           a_server_without_tls_gets_no_login_where_tls_is_configured,
           nothing_is_taken_while_cinder_runs, a_schema_of_another_release_is_refused,
           a_backend_may_have_another_name_here, the_address_is_read_from_cinders_configuration)

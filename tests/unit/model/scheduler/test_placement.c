#include "model/scheduler/placement.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "model/scheduler/placement_query.private.h"
#include "operation/service.h"
#include "tests/lib/work_test.h"
#include "json/json.h"

#include <sys/mman.h>
#include <unistd.h>

#define V1 "aaaaaaaa-0000-4000-8000-000000000001"
#define V2 "aaaaaaaa-0000-4000-8000-000000000002"
#define V3 "aaaaaaaa-0000-4000-8000-000000000003"

struct shape {
    const char *capabilities; /* NULL: none */
    const char *zone;         /* NULL: nova */
    double total_gb, free_gb; /* 0: 100 */
    bool infinite, unknown;
};

static void put_pool(struct work *work, const char *name, struct shape shape) {
    const char *host = arena_text_n(work->arena, name, strcspn(name, "#"));
    struct pool pool = {
        .name = name,
        .host = host,
        .capabilities = shape.capabilities ? shape.capabilities : "{}",
        .total_gb = shape.unknown        ? -1
                    : shape.total_gb > 0 ? shape.total_gb
                                         : 100,
        .free_gb = shape.unknown       ? -1
                   : shape.free_gb > 0 ? shape.free_gb
                                       : 100,
        .infinite = shape.infinite,
    };
    struct error err = { 0 };

    ck_assert_msg(service_report(work, SERVICE_VOLUME, host, shape.zone, NULL, &err) == 0 &&
                      pool_report(work, &pool, &err) == 0,
                  "%s", err.message);
}
#define POOL(name, ...) put_pool(work, name, (struct shape){ __VA_ARGS__ })

static struct volume_type type_with(const char *key, const char *value) {
    static struct pair pair;

    pair = (struct pair){ key, value };
    return (struct volume_type){ .id = V1, .name = "gold", .extra_specs = { &pair, 1 } };
}

/* The host that is picked, or "none"; 1 GiB unless the request has another size. */
static const char *pick_request(struct work *work, struct placement request) {
    const char *host = "none";
    struct error err = { 0 };
    int picked;

    if (request.size_gb == 0)
        request.size_gb = 1;
    picked = placement_pick(work, &request, &host, NULL, &err);
    ck_assert_msg(picked >= 0, "%s", err.message);
    ck_assert_int_eq(picked, strcmp(host, "none") != 0);
    return host;
}
/* The message to a user where nothing fits. */
static const char *refusal(struct work *work, struct placement request) {
    const char *host, *why = NULL;
    struct error err = { 0 };

    if (request.size_gb == 0)
        request.size_gb = 1;
    ck_assert_int_eq(placement_pick(work, &request, &host, &why, &err), 0);
    return why;
}

#define PICK(...) pick_request(work, (struct placement){ __VA_ARGS__ })

static const json_t *hints_of(struct work *work, const char *text) {
    struct error err = { 0 };
    json_t *tree = json_parse(work->arena, text, strlen(text), &err);

    ck_assert_msg(tree != NULL, "%s", err.message);
    return tree;
}

/* ---- pools that take volumes ---- */

WORK_TEST(without_pools_nothing_fits) {
    (void)err;
    ck_assert_str_eq(PICK(.availability_zone = "nova"), "none");
}

WORK_TEST(a_service_that_is_down_disabled_or_frozen_takes_nothing) {
    struct service service;

    POOL("n@a#p", .free_gb = 0);
    ck_assert_str_eq(PICK(.availability_zone = "nova"), "n@a#p");
    ck_assert_int_eq(service_find(work, SERVICE_VOLUME, "n@a", &service, err), 1);
    OK(service_set_disabled(work, &service, true, NULL, err));
    ck_assert_str_eq(PICK(.type = NULL), "none");
    OK(service_set_disabled(work, &service, false, NULL, err));
    OK(service_set_frozen(work, &service, true, err));
    ck_assert_str_eq(PICK(.type = NULL), "none");
    OK(service_set_frozen(work, &service, false, err));
    work->clock_us += INT64_C(60000001);
    ck_assert_str_eq(PICK(.type = NULL), "none");
}

WORK_TEST(the_zone_is_the_services) {
    struct volume_type both = type_with(TYPE_SPEC_ZONES, "az1, az2");

    (void)err;
    POOL("n@a#p", .zone = "az1", .free_gb = 10);
    POOL("n@b#p", .zone = "az2", .free_gb = 20);
    POOL("n@c#p", .zone = "az3", .free_gb = 30);
    ck_assert_str_eq(PICK(.availability_zone = "az1"), "n@a#p");
    ck_assert_str_eq(PICK(.availability_zone = "az"), "none");
    ck_assert_str_eq(PICK(.type = NULL), "n@c#p");
    ck_assert_str_eq(PICK(.type = &both), "n@b#p");
    ck_assert_str_eq(PICK(.type = &both, .availability_zone = "az1"), "n@a#p");
    ck_assert_str_eq(PICK(.type = &both, .availability_zone = "az3"), "none");
}

WORK_TEST(a_pool_limits_the_size_of_a_volume) {
    POOL("n@a#p", .capabilities = "{\"largest_volume_gb\": 20}", .free_gb = 90);
    POOL("n@b#p", .free_gb = 50);
    ck_assert_str_eq(PICK(.size_gb = 20), "n@a#p");
    ck_assert_str_eq(PICK(.size_gb = 21), "n@b#p");
    OK(placement_check_size(work, "n@a#p", 20, err));
    ck_assert_int_eq(placement_check_size(work, "n@a#p", 21, err), -1);
    ck_assert_int_eq(err->kind, ERROR_BAD_REQUEST);
    OK(placement_check_size(work, "n@b#p", 5000, err));
    OK(placement_check_size(work, NULL, 5000, err));
}

WORK_TEST(a_types_extra_specs_choose_among_the_pools) {
    struct volume_type type = type_with("storage_protocol", "nfs");

    (void)err;
    POOL("n@a#p", .capabilities = "{\"storage_protocol\": \"file\"}", .free_gb = 90);
    POOL("n@b#p", .capabilities = "{\"storage_protocol\": \"nfs\"}", .free_gb = 10);
    ck_assert_str_eq(PICK(.type = &type), "n@b#p");
    type = type_with("storage_protocol", "made-up");
    ck_assert_str_eq(PICK(.type = &type), "none");
    type = type_with("volume_backend_name", "a"); /* known without being reported */
    ck_assert_str_eq(PICK(.type = &type), "n@a#p");
    type = type_with("free_capacity_gb", "<= 50");
    ck_assert_str_eq(PICK(.type = &type), "n@b#p");
    type = type_with("provisioning:min_vol_size", "9");
    ck_assert_str_eq(PICK(.type = &type), "n@a#p");
}

/* ---- why none fits ---- */

#define WHY(...) refusal(work, (struct placement){ __VA_ARGS__ })

WORK_TEST(each_filter_has_a_reason_why_no_backend_fits) {
    struct volume_type type = type_with("storage_protocol", "made-up");

    (void)err;
    ck_assert_str_eq(WHY(.type = NULL), "There is no backend.");
    POOL("n@a#p", .zone = "az1", .free_gb = 10, .total_gb = 10);
    ck_assert_str_eq(WHY(.size_gb = 11), "Each backend has too little space.");
    ck_assert_str_eq(WHY(.type = &type), "Each backend lacks what the volume type asks for.");
    ck_assert_str_eq(WHY(.availability_zone = "az2"),
                     "Each backend is in another availability zone.");
    ck_assert_str_eq(WHY(.backend = "n@b"), "Each backend is not the one of its group.");
    POOL("n@b#p", .capabilities = "{\"largest_volume_gb\": 20}");
    ck_assert_str_eq(WHY(.size_gb = 21), "Each backend has no volumes as large as this, or has too "
                                         "little space.");
    work->clock_us += INT64_C(60000001);
    ck_assert_str_eq(WHY(.type = NULL), "Each backend is down or disabled.");
}

/* Users do not see the backends; operators do, and the filter that refused each. */
WORK_TEST(the_log_names_the_filter_that_refused_each_pool) {
    autoclose int log = memfd_create("log", MFD_CLOEXEC);
    struct volume_type type = type_with("storage_protocol", "nfs");
    char text[8192] = { 0 };

    (void)err;
    POOL("n@a#p", .capabilities = "{\"storage_protocol\": \"file\"}");
    POOL("n@b#p", .capabilities = "{\"storage_protocol\": \"nfs\"}", .total_gb = 1, .free_gb = 1);
    log_open(log, LOG_WARNING, LOG_TEXT);
    ck_assert_ptr_null(strstr(WHY(.type = &type, .size_gb = 7), "n@"));
    log_open(-1, LOG_ERROR, LOG_TEXT);
    ck_assert_int_gt(pread(log, text, sizeof text - 1, 0), 0);
    ck_assert_ptr_nonnull(strstr(text, "no backend fits"));
    ck_assert_ptr_nonnull(strstr(text, "n@a#p: capabilities or zones of the volume type"));
    ck_assert_ptr_nonnull(strstr(text, "n@b#p: space"));
    ck_assert_ptr_nonnull(strstr(text, "size_gb=7"));
}

/* ---- space ---- */

WORK_TEST(the_pool_with_most_space_is_picked_and_of_equals_the_first) {
    (void)err;
    POOL("n@c#p", .free_gb = 50);
    POOL("n@b#p", .free_gb = 60);
    POOL("n@a#p", .free_gb = 60);
    ck_assert_str_eq(PICK(.type = NULL), "n@a#p");
    OK(pool_allocate(work, "n@a#p", 41, err)); /* 100 - 41 < 60 */
    ck_assert_str_eq(PICK(.type = NULL), "n@b#p");
}

WORK_TEST(a_thick_pool_gives_no_more_than_it_has) {
    (void)err;
    POOL("n@a#p", .free_gb = 50, .capabilities = "{\"reserved_percentage\": 10}");
    ck_assert_str_eq(PICK(.size_gb = 40), "n@a#p");
    ck_assert_str_eq(PICK(.size_gb = 41), "none");
    OK(pool_allocate(work, "n@a#p", 70, err)); /* since the report */
    ck_assert_str_eq(PICK(.size_gb = 20), "n@a#p");
    ck_assert_str_eq(PICK(.size_gb = 21), "none");
}

WORK_TEST(a_thin_pool_provisions_space_up_to_its_ratio) {
    struct volume_type thick = type_with("provisioning:type", "thick");

    (void)err;
    POOL("n@a#p", .free_gb = 50,
         .capabilities = "{\"thin_provisioning_support\": true, "
                         "\"max_over_subscription_ratio\": \"2.0\"}");
    ck_assert_str_eq(PICK(.size_gb = 100), "n@a#p");
    ck_assert_str_eq(PICK(.size_gb = 101), "none"); /* twice the free space */
    OK(pool_allocate(work, "n@a#p", 150, err));
    ck_assert_str_eq(PICK(.size_gb = 50), "n@a#p");
    ck_assert_str_eq(PICK(.size_gb = 51), "none"); /* twice the total, with the allocated space */
    ck_assert_str_eq(PICK(.size_gb = 1, .type = &thick), "none");
}

WORK_TEST(the_ratio_is_the_configured_one_unless_the_pool_reports_another) {
    (void)err;
    settings_of(work)->max_over_subscription_ratio = 3;
    POOL("n@a#p", .capabilities = "{\"thin_provisioning_support\": true, "
                                  "\"max_over_subscription_ratio\": \"auto\"}");
    ck_assert_str_eq(PICK(.size_gb = 300), "n@a#p");
    ck_assert_str_eq(PICK(.size_gb = 301), "none");
    POOL("n@a#p", .capabilities = "{\"thin_provisioning_support\": true, "
                                  "\"max_over_subscription_ratio\": 0.5}");
    ck_assert_str_eq(PICK(.size_gb = 1), "none");
    POOL("n@a#p", .capabilities = "{\"thin_provisioning_support\": true, "
                                  "\"provisioned_capacity_gb\": 290}");
    ck_assert_str_eq(PICK(.size_gb = 10), "n@a#p");
    ck_assert_str_eq(PICK(.size_gb = 11), "none");
}

WORK_TEST(a_pool_of_unknown_space_is_chosen_last) {
    (void)err;
    POOL("n@a#p", .infinite = true);
    POOL("n@b#p", .unknown = true);
    POOL("n@c#p", .free_gb = 5);
    ck_assert_str_eq(PICK(.size_gb = 5), "n@c#p");
    ck_assert_str_eq(PICK(.size_gb = 6), "n@a#p");
}

WORK_TEST(a_pool_without_space_takes_nothing) {
    (void)err;
    POOL("n@a#p", .free_gb = 5);
    sql(work, "UPDATE pools SET total_gb = 0, free_gb = 0");
    ck_assert_str_eq(PICK(.size_gb = 1), "none");
}

WORK_TEST(growth_fits_where_space_is_left_or_unknown) {
    POOL("n@a#p", .free_gb = 5);
    POOL("n@b#p", .unknown = true);
    ck_assert_int_eq(placement_fits(work, "n@a#p", 5, err), 1);
    ck_assert_int_eq(placement_fits(work, "n@a#p", 6, err), 0);
    ck_assert_int_eq(placement_fits(work, "n@b#p", 6000, err), 1);
    ck_assert_int_eq(placement_fits(work, "n@gone#p", 6000, err), 1);
    ck_assert_int_eq(placement_fits(work, NULL, 6000, err), 1);
}

/* ---- hints ---- */

static void put_hinted(struct work *work) {
    POOL("n@a#p", .free_gb = 90);
    POOL("n@b#p", .free_gb = 80);
    POOL("m@c#p", .free_gb = 70);
    put_volume(work, V1, PROJECT, NULL, 1, true, "n@a#p");
    put_volume(work, V2, PROJECT, NULL, 1, true, "n@b#p");
    put_volume(work, V3, OTHER, NULL, 1, true, "m@c#p");
}

static const char *pick_hint(struct work *work, const char *hints) {
    return PICK(.hints = hints_of(work, hints));
}

WORK_TEST(hints_place_a_volume_near_to_others_or_away_from_them) {
    (void)err;
    put_hinted(work);
    ck_assert_str_eq(pick_hint(work, "{}"), "n@a#p");
    ck_assert_str_eq(pick_hint(work, "{\"same_host\": null, \"query\": \"\"}"), "n@a#p");
    ck_assert_str_eq(pick_hint(work, "{\"same_host\": \"" V2 "\"}"), "n@b#p");
    ck_assert_str_eq(pick_hint(work, "{\"same_host\": [\"" V1 "\", \"" V2 "\"]}"), "n@a#p");
    ck_assert_str_eq(pick_hint(work, "{\"different_host\": \"" V1 "\"}"), "n@b#p");
    ck_assert_str_eq(pick_hint(work, "{\"different_host\": [\"" V1 "\", \"" V2 "\"]}"), "m@c#p");
    ck_assert_str_eq(pick_hint(work, "{\"same_host\": \"" V1 "\", \"different_host\": \"" V1 "\"}"),
                     "none");
    ck_assert_str_eq(pick_hint(work, "{\"same_host\": []}"), "n@a#p");
}

WORK_TEST(volumes_of_other_projects_are_unknown_to_hints) {
    (void)err;
    put_hinted(work);
    ck_assert_str_eq(pick_hint(work, "{\"same_host\": \"" V3 "\"}"), "none");
    context_of(work)->is_admin = true;
    ck_assert_str_eq(pick_hint(work, "{\"same_host\": \"" V3 "\"}"), "m@c#p");
}

WORK_TEST(an_instance_draws_a_volume_to_its_node_when_that_is_known) {
    (void)err;
    put_hinted(work);
    ck_assert_str_eq(pick_hint(work, "{\"local_to_instance\": \"" V3 "\"}"), "n@a#p");
    sql(work, "INSERT INTO attachments (id, volume_id, project_id, instance_uuid, attached_host, "
              "attach_status, created_at) VALUES ('x', '" V1 "', '" PROJECT "', '" V3 "', 'm', "
              "'attached', 1)");
    ck_assert_str_eq(pick_hint(work, "{\"local_to_instance\": \"" V3 "\"}"), "m@c#p");
    sql(work, "UPDATE attachments SET attached_host = 'elsewhere'");
    ck_assert_str_eq(pick_hint(work, "{\"local_to_instance\": \"" V3 "\"}"), "none");
}

/* The hint is a text; with `'` for `"`. */
static const char *pick_query(struct work *work, const char *term) {
    char *text = arena_text(work->arena, term);
    json_t *hints;
    const char *host;

    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    hints = json_pack("{ss}", "query", text);
    host = PICK(.hints = hints);
    json_decref(hints);
    return host;
}

WORK_TEST(an_expression_selects_pools) {
    static const struct {
        const char *term, *host;
    } rows[] = {
        { "['=', '$host', 'n@b#p']", "n@b#p" },
        { "['=', '$backend_id', 'n@b#p']", "n@b#p" },
        { "['in', '$host', 'x', 'm@c#p']", "m@c#p" },
        { "['in', '$host', 'x']", "none" },
        { "['=', '$host', 'n@a#p', 'n@b#p']", "none" },
        { "['not', ['=', '$host', 'n@a#p']]", "n@b#p" },
        { "['not', ['=', '$host', 'n@a#p'], ['=', '$host', 'n@b#p']]", "n@a#p" },
        { "['or', ['=', '$host', 'm@c#p'], ['=', '$host', 'n@b#p']]", "n@b#p" },
        { "['and', ['<', '$free_capacity_gb', 30], ['=', '$kind', 'b']]", "n@b#p" },
        { "['<', '$free_capacity_gb', 20]", "m@c#p" },
        { "['<=', '$free_capacity_gb', 20]", "n@b#p" },
        { "['>', '$free_capacity_gb', 10, 15]", "n@a#p" },
        { "['>=', '$free_capacity_gb', '10']", "none" },
        { "['=', '$capabilities.kind', 'b']", "n@b#p" },
        { "['=', '$never_said', 'b']", "none" },
        { "['=', '$kind', '$never_said']", "none" },
        { "['and', '$thin']", "m@c#p" },
        { "['=', 1]", "none" },
        { "['=', '$thin', true]", "m@c#p" },
    };

    (void)err;
    POOL("n@a#p", .free_gb = 30);
    POOL("n@b#p", .free_gb = 20, .capabilities = "{\"kind\": \"b\"}");
    POOL("m@c#p", .free_gb = 10, .capabilities = "{\"thin\": true}");
    for (size_t i = 0; i < LENGTH(rows); i++)
        ck_assert_msg(strcmp(pick_query(work, rows[i].term), rows[i].host) == 0, "%s",
                      rows[i].term);
}

/* Otherwise a project that may make volumes would find the names of all hosts by halving. */
WORK_TEST(texts_of_pools_are_compared_for_equality_alone) {
    static const struct {
        const char *term, *host;
    } rows[] = {
        { "['<', '$host', 'z']", "none" },
        { "['>', '$host', 'a']", "none" },
        { "['<', 'a', '$backend_id']", "none" },
        { "['<=', '$host', 'z']", "none" },
        { "['>=', '$host', 'n@a#p']", "n@a#p" },
        { "['not', ['<', '$host', 'a']]", "n@a#p" },
        { "['not', ['>', '$host', 'a']]", "n@a#p" },
        { "['<', '$kind', 'z']", "none" },
        { "['>', '$capabilities.kind', 'a']", "none" },
        { "['=', '$kind', 'b']", "n@a#p" },
    };

    (void)err;
    POOL("n@a#p", .free_gb = 30, .capabilities = "{\"kind\": \"b\"}");
    for (size_t i = 0; i < LENGTH(rows); i++)
        ck_assert_msg(strcmp(pick_query(work, rows[i].term), rows[i].host) == 0, "%s",
                      rows[i].term);
}

WORK_TEST(a_malformed_expression_is_refused) {
    static const char *const texts[] = {
        "x",
        "5",
        "[\"~\", 1, 1]",
        "[5, 1]",
        "[\"=\", {}, 1]",
        "[\"=\", [\"and\"], 1]",
        "[\"and\", [\"x\"]]",
        "[\"and\",[\"and\",[\"and\",[\"and\",[\"and\",[\"and\",[\"and\",[\"and\",[\"and\"]]]]]]]]]",
    };

    POOL("n@a#p", .free_gb = 30);
    for (size_t i = 0; i < LENGTH(texts); i++) {
        json_t *hints = json_pack("{ss}", "query", texts[i]);
        struct placement request = { .size_gb = 1, .hints = hints };
        const char *host;

        REFUSED(placement_pick(work, &request, &host, NULL, err), BAD_REQUEST);
        ck_assert_ptr_nonnull(strstr(err->message, "query"));
        json_decref(hints);
    }
}

/* A list of one item, that often. */
static char *query_of(struct work *work, const char *verb, const char *item, unsigned count) {
    char *text = arena_alloc(work->arena, strlen(verb) + count * (strlen(item) + 1) + 8), *end;

    end = text + sprintf(text, "['%s'", verb);
    for (unsigned i = 0; i < count; i++)
        end += sprintf(end, ",%s", item);
    strcpy(end, "]");
    return text;
}

/* Otherwise each costs a comparison for each pool, within the transaction. */
WORK_TEST(items_of_an_expression_are_bounded) {
    static const char *const items[] = { "1", "'$free_capacity_gb'", "['or',1]" };
    static const unsigned costs[] = { 1, 1, 3 };
    struct placement request = { .size_gb = 1 };
    const char *host;

    POOL("n@a#p", .free_gb = 30);
    for (size_t i = 0; i < LENGTH(items); i++) {
        unsigned most = (500 - 2) / costs[i]; /* beside the verb and the list */
        json_t *hints = json_pack("{ss}", "query", query_of(work, "or", items[i], most + 1));

        ck_assert_str_eq(pick_query(work, query_of(work, "or", items[i], most)), "n@a#p");
        for (char *c = (char *)(uintptr_t)json_text_of(hints, "query"); *c; c++)
            if (*c == '\'')
                *c = '"';
        request.hints = hints;
        REFUSED(placement_pick(work, &request, &host, NULL, err), BAD_REQUEST);
        ck_assert_str_eq(err->message,
                         "Scheduler hint 'query' has more than 500 items (terms count twice).");
        json_decref(hints);
    }
}

WORK_TEST(terms_without_a_value_of_a_pool_are_evaluated_once) {
    static const struct {
        const char *term, *folded;
    } rows[] = {
        { "[\"=\", 1, 1]", "true" },
        { "[\"and\", [\"<\", 1, 0], \"$thin\"]", "[\"and\",false,\"$thin\"]" },
        { "[\"not\", [\"or\", [\"=\", 1, 2], [\"=\", \"$host\", \"x\"]]]",
          "[\"not\",[\"or\",false,[\"=\",\"$host\",\"x\"]]]" },
        { "[\"not\", [\"or\", [\"=\", 1, 2], [\"in\", 3, 4, 5]]]", "true" },
        { "[\"in\", \"$host\", 1, 2]", "[\"in\",\"$host\",1,2]" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        json_t *text = json_string(rows[i].term);
        const json_t *term;

        OK(placement_query_read(work, text, &term, err));
        ck_assert_str_eq(json_text(work->arena, term), rows[i].folded);
        json_decref(text);
    }
}

WORK_TEST(a_malformed_hint_is_refused_by_name) {
    static const char *const texts[] = {
        "{\"same_host\": 5}",
        "{\"same_host\": \"x\"}",
        "{\"same_host\": [\"" V1 "\", \"x\"]}",
        "{\"same_host\": {\"a\": 1}}",
    };
    const char *host = "untouched";

    put_hinted(work);
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct placement request = { .size_gb = 1, .hints = hints_of(work, texts[i]) };

        REFUSED(placement_pick(work, &request, &host, NULL, err), BAD_REQUEST);
        ck_assert_ptr_nonnull(strstr(err->message, "same_host"));
    }
    ck_assert_str_eq(host, "untouched");
}

WORK_TEST(a_failing_database_is_reported) {
    if (postgresql_given())
        return; /* there a failed statement ends the transaction */
    struct placement request = { .size_gb = 1 };
    struct placement hinted = { .size_gb = 1,
                                .hints = hints_of(work, "{\"same_host\": \"" V1 "\"}") };
    const char *host;

    FAILS_WITHOUT("pools", placement_pick(work, &request, &host, NULL, err));
    FAILS_WITHOUT("volumes", placement_pick(work, &hinted, &host, NULL, err));
    FAILS_READING("volumes", placement_pick(work, &hinted, &host, NULL, err));
    FAILS_WITHOUT("pools", placement_fits(work, "n@a#p", 1, err));
}

CHECK_MAIN("placement", without_pools_nothing_fits,
           a_service_that_is_down_disabled_or_frozen_takes_nothing, the_zone_is_the_services,
           a_pool_limits_the_size_of_a_volume, a_types_extra_specs_choose_among_the_pools,
           each_filter_has_a_reason_why_no_backend_fits,
           the_log_names_the_filter_that_refused_each_pool,
           the_pool_with_most_space_is_picked_and_of_equals_the_first,
           a_thick_pool_gives_no_more_than_it_has, a_thin_pool_provisions_space_up_to_its_ratio,
           the_ratio_is_the_configured_one_unless_the_pool_reports_another,
           a_pool_of_unknown_space_is_chosen_last, a_pool_without_space_takes_nothing,
           growth_fits_where_space_is_left_or_unknown,
           hints_place_a_volume_near_to_others_or_away_from_them,
           volumes_of_other_projects_are_unknown_to_hints,
           an_instance_draws_a_volume_to_its_node_when_that_is_known, an_expression_selects_pools,
           texts_of_pools_are_compared_for_equality_alone, a_malformed_expression_is_refused,
           items_of_an_expression_are_bounded, terms_without_a_value_of_a_pool_are_evaluated_once,
           a_malformed_hint_is_refused_by_name, a_failing_database_is_reported)

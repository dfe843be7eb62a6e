#include "declared/document_edit.h"

#include "common/cleanup.h"
#include "declared/document_own.h"
#include "tests/lib/work_test.h"
#include "json/json.h"

#define CONFIG(name, more, size)                                                                \
    "{\"metadata\":{\"name\":\"" name "\"" more "},\"spec\":{\"capacity\":{\"storage\":\"" size \
    "\"},\"provision\":{\"replicaCount\":3},\"policy\":{}}}"

static json_t *parse(struct work *work, const char *text) {
    struct error err = { 0 };
    json_t *tree = json_parse(work->arena, text, strlen(text), &err);

    ck_assert_msg(tree != NULL, "%s: %s", text, err.message);
    return tree;
}

static int create(struct work *work, const struct document_kind *kind, const char *text,
                  struct document *ret, struct error *err) {
    return document_create(work, kind, parse(work, text), false, ret, err);
}

static struct document made(struct work *work, const char *text) {
    struct error err = { 0 };
    struct document document;

    ck_assert_msg(create(work, &kind_volume_config, text, &document, &err) == 0, "%s", err.message);
    return document;
}

/* As it stands in the database. */
static struct document found(struct work *work, const char *name) {
    struct error err = { 0 };
    struct document document;

    ck_assert_msg(document_find(work, &kind_volume_config, name, &document, &err) == 0, "%s",
                  err.message);
    return document;
}

static const char *whole(struct work *work, const struct document *document) {
    return json_text(work->arena, document_json(work->arena, document));
}

/* As written by the controller. */
static void set_status(struct work *work, const char *name, const char *status) {
    struct error err = { 0 };

    ck_assert_int_eq(db_run(work->tx, &err, "UPDATE documents SET status = $1 WHERE name = $2",
                            DB_TEXT(status), DB_TEXT(name)),
                     1);
}

static int64_t version_of_all(struct work *work) {
    struct error err = { 0 };
    int64_t version;

    ck_assert_int_eq(document_last_version(work, &version, &err), 0);
    return version;
}

WORK_TEST(a_policy_is_taken_as_it_is_written_and_shown_with_its_defaults) {
    struct document policy;

    OK(create(work, &kind_volume_policy,
              "{\"apiVersion\":\"cstor.openebs.io/v1\",\"kind\":\"CStorVolumePolicy\","
              "\"metadata\":{\"name\":\"fast\",\"namespace\":\"openebs\",\"labels\":{\"a\":\"b\"}},"
              "\"spec\":{\"provision\":{\"replicaAffinity\":true},"
              "\"target\":{\"luWorkers\":8,\"queueDepth\":64,\"nodeSelector\":{\"disk\":\"ssd\"},"
              "\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}}},"
              "\"replica\":{\"zvolWorkers\":\"4\",\"compression\":\"lz4\"},"
              "\"replicaPoolInfo\":[{\"poolName\":\"p1\"},{\"poolName\":\"p2\"}]},"
              "\"status\":{\"phase\":\"whatever\"}}",
              &policy, err));
    ck_assert_str_eq(
        whole(work, &policy),
        arena_format(
            work->arena,
            "{\"apiVersion\":\"cstor.openebs.io/v1\",\"kind\":\"CStorVolumePolicy\",\"metadata\":{"
            "\"name\":\"fast\",\"namespace\":\"" PROJECT "\",\"uid\":\"%s\","
            "\"resourceVersion\":\"1\",\"generation\":1,"
            "\"creationTimestamp\":\"2027-01-15T08:00:00Z\",\"labels\":{\"a\":\"b\"},"
            "\"annotations\":{},\"finalizers\":[]},"
            "\"spec\":{\"provision\":{\"replicaAffinity\":true,\"blockSize\":4096},"
            "\"target\":{\"queueDepth\":\"64\",\"luWorkers\":8,\"monitor\":false,"
            "\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}},"
            "\"nodeSelector\":{\"disk\":\"ssd\"}},"
            "\"replica\":{\"zvolWorkers\":\"4\",\"compression\":\"lz4\",\"autoReplaceSeconds\":600},"
            "\"replicaPoolInfo\":[{\"poolName\":\"p1\"},{\"poolName\":\"p2\"}]},"
            "\"status\":{\"phase\":\"Active\"}}",
            policy.id));
}

#define SPEC(spec) "{\"metadata\":{\"name\":\"fast\"},\"spec\":{" spec "}}"

/* P2 to P5: each field that there is, at both ends of its range, and beyond them. */
WORK_TEST(each_field_of_a_policy_has_its_range) {
    static const char *const taken[] = {
        SPEC("\"provision\":{\"replicaAffinity\":false,\"blockSize\":512}"),
        SPEC("\"provision\":{\"blockSize\":131072}"),
        SPEC("\"target\":{\"queueDepth\":\"1\",\"luWorkers\":1,\"monitor\":true,"
             "\"replicationFactor\":1}"),
        SPEC("\"target\":{\"queueDepth\":\"65536\",\"luWorkers\":1024,\"replicationFactor\":7}"),
        SPEC(
            "\"target\":{\"resources\":{\"requests\":{\"cpu\":\"1\"}},\"auxResources\":{\"limits\":"
            "{\"memory\":\"1Gi\"}},\"tolerations\":[{\"key\":\"a\"}],\"affinity\":{\"a\":[1]},"
            "\"nodeSelector\":{\"a\":\"b\"},\"priorityClassName\":\"high\"}"),
        SPEC("\"replica\":{\"zvolWorkers\":\"1\",\"compression\":\"gzip-9\"}"),
        SPEC("\"replica\":{\"zvolWorkers\":\"1024\",\"compression\":\"zle\"}"),
    };
    static const char *const refused[][2] = {
        { SPEC("\"provision\":{\"replicaAffinity\":\"yes\"}"), "spec.provision.replicaAffinity: " },
        { SPEC("\"provision\":{\"blockSize\":256}"), "spec.provision.blockSize: " },
        { SPEC("\"provision\":{\"blockSize\":1000}"), "spec.provision.blockSize: " },
        { SPEC("\"provision\":{\"blockSize\":262144}"), "spec.provision.blockSize: " },
        { SPEC("\"target\":{\"queueDepth\":\"0\"}"), "spec.target.queueDepth: " },
        { SPEC("\"target\":{\"queueDepth\":\"65537\"}"), "spec.target.queueDepth: " },
        { SPEC("\"target\":{\"luWorkers\":0}"), "spec.target.luWorkers: " },
        { SPEC("\"target\":{\"luWorkers\":1025}"), "spec.target.luWorkers: " },
        { SPEC("\"target\":{\"monitor\":1}"), "spec.target.monitor: " },
        { SPEC("\"target\":{\"replicationFactor\":8}"), "spec.target.replicationFactor: " },
        { SPEC("\"target\":{\"resources\":{\"limits\":{\"cpu\":\"many\"}}}"),
          "spec.target.resources.limits.cpu: " },
        { SPEC("\"target\":{\"auxResources\":{\"most\":{}}}"), "spec.target.auxResources: " },
        { SPEC("\"target\":{\"tolerations\":{}}"), "spec.target.tolerations: " },
        { SPEC("\"target\":{\"affinity\":[]}"), "spec.target.affinity: " },
        { SPEC("\"target\":{\"nodeSelector\":{\"a\":1}}"), "spec.target.nodeSelector.a: " },
        { SPEC("\"target\":{\"priorityClassName\":1}"), "spec.target.priorityClassName: " },
        { SPEC("\"replica\":{\"zvolWorkers\":\"0\"}"), "spec.replica.zvolWorkers: " },
        { SPEC("\"replica\":{\"compression\":\"gzip-10\"}"), "spec.replica.compression: " },
        { SPEC("\"replicaPoolInfo\":[{}]"), "spec.replicaPoolInfo[0].poolName is missing." },
        { SPEC("\"replicaPoolInfo\":[{\"poolName\":\"a\"},{\"poolName\":\"a\"}]"),
          "spec.replicaPoolInfo[1].poolName: " },
    };
    struct document policy;

    for (size_t i = 0; i < LENGTH(refused); i++) {
        REFUSED(create(work, &kind_volume_policy, refused[i][0], &policy, err), BAD_REQUEST);
        ck_assert_msg(strncmp(err->message, refused[i][1], strlen(refused[i][1])) == 0, "%s: %s",
                      refused[i][0], err->message);
    }
    ck_assert_int_eq(version_of_all(work), 0);
    for (size_t i = 0; i < LENGTH(taken); i++)
        ck_assert_msg(document_create(work, &kind_volume_policy, parse(work, taken[i]), true,
                                      &policy, err) == 0,
                      "%s: %s", taken[i], err->message);
}

WORK_TEST(a_config_begins_pending_with_a_finalizer_and_the_requested_size) {
    struct document config = made(work, CONFIG("db", "", "10Gi"));

    (void)err;

    ck_assert_str_eq(json_text(work->arena, config.status), "{\"phase\":\"Pending\"}");
    ck_assert_str_eq(json_text(work->arena, config.finalizers), "[\"cvc.openebs.io/finalizer\"]");
    ck_assert_str_eq(
        json_text(work->arena, json_object_get(json_object_get(config.body, "spec"), "provision")),
        "{\"replicaCount\":3,\"capacity\":{\"storage\":\"10Gi\"}}");
    ck_assert_str_eq(whole(work, &config),
                     whole(work, &(struct document[]){ found(work, "db") }[0]));
}

WORK_TEST(an_invalid_document_is_refused_and_not_created) {
    static const char *const cases[][2] = {
        { "[]", "A document must be an object." },
        { "{}", "metadata is missing, or not an object." },
        { "{\"kind\":\"Pod\",\"metadata\":{}}", "kind must be CStorVolumeConfig." },
        { "{\"apiVersion\":\"v1\",\"metadata\":{}}", "apiVersion must be cstor.openebs.io/v1." },
        { "{\"metadata\":{\"name\":\"A\"}}",
          "metadata.name: 'A' is not a name of lower-case letters, digits, '-' and '.'." },
        { "{\"metadata\":{\"generateName\":\"a-\"}}",
          "metadata: 'generateName' is not a known field; did you mean generation?" },
        { "{\"metadata\":{\"labels\":{\"a\":\"b c\"}}}",
          "metadata.labels.a: the value must have at most 63 letters, digits, '-', '_' and '.'." },
        { "{\"metadata\":{\"finalizers\":[1]}}", "metadata.finalizers[0] is not a valid name." },
        { "{\"metadata\":{}}", "spec is missing." },
        { "{\"metadata\":{},\"specs\":{}}", "'specs' is not a known field; did you mean spec?" },
        { "{\"metadata\":{},\"spec\":{\"capacity\":{}}}", "spec.capacity.storage is missing." },
        { CONFIG("db", "", "8Ei"),
          "spec.capacity.storage: '8Ei' is not a quantity, like 10Gi, below 8Ei." },
        { CONFIG("db", "", "2Ti"),
          "spec.capacity.storage: '2Ti' is not a quantity from 1048576 to 1099511627776." },
        { CONFIG("db", ",\"resourceVersion\":\"7\"", "1Gi"),
          "metadata.resourceVersion cannot be given for a new document." },
        { "{\"metadata\":{},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
          "\"provision\":{\"replicaCount\":3}}}",
          "metadata.name is missing." },
        { "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
          "\"provision\":{\"replicaCount\":3,\"capacity\":{\"storage\":\"2Gi\"}}}}",
          "spec.capacity.storage: it is less than spec.provision.capacity.storage." },
        { CONFIG("db.json", "", "1Gi"),
          "metadata.name: db.json ends with .json, which paths of this API may omit." },
        { "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
          "\"provision\":{\"replicaCount\":0}}}",
          "spec.provision.replicaCount: '0' is not an integer from 1 to 7." },
        { "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
          "\"provision\":{\"replicaCount\":3},\"cstorVolumeSource\":\"a\"}}",
          "spec.cstorVolumeSource: 'a' is not of the form volume@snapshot." },
        { "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
          "\"provision\":{\"replicaCount\":3},\"policy\":{\"target\":{\"luWorker\":1}}}}",
          "spec.policy.target: 'luWorker' is not a known field; did you mean luWorkers?" },
        { "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
          "\"provision\":{\"replicaCount\":3},"
          "\"policy\":{\"replicaPoolInfo\":[{\"poolName\":\"p\"}]}}}",
          "spec.policy.replicaPoolInfo names 1 pools for 3 replicas." },
        { "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
          "\"provision\":{\"replicaCount\":2},"
          "\"policy\":{\"replicaPoolInfo\":[{\"poolName\":\"p\"},{\"poolName\":\"p\"}]}}}",
          "spec.policy.replicaPoolInfo[1].poolName: p is named twice." },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct document document;

        REFUSED(create(work, &kind_volume_config, cases[i][0], &document, err), BAD_REQUEST);
        ck_assert_str_eq(err->message, cases[i][1]);
    }
    ck_assert_int_eq(version_of_all(work), 0);
}

WORK_TEST(a_token_of_no_project_creates_no_document) {
    static const struct {
        const struct document_kind *kind;
        const char *text;
    } cases[] = {
        { &kind_volume_config, CONFIG("db", "", "1Gi") },
        { &kind_volume_policy, "{\"metadata\":{\"name\":\"p\"},\"spec\":{}}" },
        { &kind_volume_config_snapshot,
          "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"volume\":\"db\"}}" },
    };

    context_of(work)->project_id = NULL;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        for (int dry_run = 0; dry_run < 2; dry_run++) {
            struct document document;

            REFUSED(document_create(work, cases[i].kind, parse(work, cases[i].text), dry_run,
                                    &document, err),
                    BAD_REQUEST);
            ck_assert_str_eq(err->message,
                             "A document belongs to a project, and the token is for none.");
        }
    }
    ck_assert_int_eq(version_of_all(work), 0);
}

WORK_TEST(a_name_is_unique) {
    struct document document;

    made(work, CONFIG("db", "", "1Gi"));
    REFUSED(create(work, &kind_volume_config, CONFIG("db", "", "1Gi"), &document, err), CONFLICT);
    ck_assert_str_eq(err->message, "Volume config db already exists.");
    OK(create(work, &kind_volume_policy, "{\"metadata\":{\"name\":\"db\"},\"spec\":{}}", &document,
              err));
}

WORK_TEST(an_edit_by_a_number_that_is_not_the_last_is_refused) {
    struct document first = made(work, CONFIG("db", "", "1Gi")), second, third;

    OK(document_replace(work, &first,
                        parse(work, CONFIG("db", ",\"resourceVersion\":\"1\"", "2Gi")), false,
                        &second, err));
    ck_assert_int_eq(second.version, 2);
    ck_assert_int_eq(second.generation, 2);
    REFUSED(document_replace(work, &second,
                             parse(work, CONFIG("db", ",\"resourceVersion\":\"1\"", "3Gi")), false,
                             &third, err),
            CONFLICT);
    ck_assert_str_eq(
        err->message,
        "metadata.resourceVersion: Volume config db was changed meanwhile; read it again.");
    REFUSED(document_replace(work, &second, parse(work, CONFIG("db", ",\"uid\":\"x\"", "3Gi")),
                             false, &third, err),
            CONFLICT);
    ck_assert_str_eq(whole(work, &second),
                     whole(work, &(struct document[]){ found(work, "db") }[0]));
}

WORK_TEST(an_edit_that_changes_nothing_has_no_number) {
    struct document first = made(work, CONFIG("db", ",\"labels\":{\"a\":\"b\"}", "1Gi")), second;

    OK(document_replace(work, &first, parse(work, whole(work, &first)), false, &second, err));
    OK(document_patch(work, &first, parse(work, "{}"), false, &second, err));
    ck_assert_int_eq(second.version, 1);
    ck_assert_int_eq(version_of_all(work), 1);
}

WORK_TEST(a_change_of_a_fixed_field_is_refused_by_name) {
    static const char *const cases[][2] = {
        { "{\"metadata\":{\"name\":\"x\"}}", "metadata.name cannot be changed: it is db." },
        { "{\"spec\":{\"provision\":{\"replicaCount\":1}}}",
          "spec.provision.replicaCount cannot be changed: it is 3." },
        { "{\"spec\":{\"provision\":{\"capacity\":{\"storage\":\"11Gi\"}}}}",
          "spec.provision.capacity.storage cannot be changed: it is 10Gi." },
        { "{\"spec\":{\"capacity\":{\"storage\":\"9Gi\"}}}",
          "spec.capacity.storage can only grow: it is 10Gi." },
        { "{\"spec\":{\"policy\":{\"provision\":{\"blockSize\":512}}}}",
          "spec.policy.provision.blockSize cannot be changed: it is 4096." },
        { "{\"spec\":{\"cstorVolumeSource\":\"a@b\"}}",
          "spec.cstorVolumeSource cannot be changed: it is nothing." },
        { "{\"spec\":{\"policy\":7}}", "spec.policy: '7' is not an object." },
        { "{\"spec\":null}", "spec is missing." },
        { "{\"spec\":{\"polici\":null}}",
          "spec: 'polici' is not a known field; did you mean policy?" },
        { "[]", "A patch must be an object." },
    };
    struct document config = made(work, CONFIG("db", "", "10Gi"));

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct document after;

        ck_assert_int_eq(
            document_patch(work, &config, parse(work, cases[i][0]), false, &after, err), -1);
        ck_assert_int_eq(err->kind, ERROR_BAD_REQUEST);
        ck_assert_str_eq(err->message, cases[i][1]);
    }
    ck_assert_str_eq(whole(work, &config),
                     whole(work, &(struct document[]){ found(work, "db") }[0]));
    ck_assert_int_eq(version_of_all(work), 1);
}

#define POOLS(list) "{\"spec\":{\"policy\":{\"replicaPoolInfo\":[" list "]}}}"
#define POOL(name)  "{\"poolName\":\"" name "\"}"

/* Nothing was chosen for it yet. */
WORK_TEST(one_that_is_pending_without_a_policy_may_be_given_one) {
    struct document config, after;

    config = made(work, "{\"metadata\":{\"name\":\"db\"},\"spec\":{\"capacity\":{\"storage\":"
                        "\"1Gi\"},\"provision\":{\"replicaCount\":2}}}");
    REFUSED(document_patch(work, &config, parse(work, POOLS(POOL("a"))), false, &after, err),
            BAD_REQUEST);
    ck_assert_str_eq(err->message, "spec.policy.replicaPoolInfo names 1 pools for 2 replicas.");
    OK(document_patch(work, &config, parse(work, POOLS(POOL("a") "," POOL("b"))), false, &after,
                      err));
    config = found(work, "db");
    REFUSED(document_patch(work, &config, parse(work, POOLS(POOL("a") "," POOL("c"))), false,
                           &after, err),
            CONFLICT);
}

WORK_TEST(a_node_is_named_as_agents_are_or_refused) {
    static const char *const wrong[] = {
        " ",  "node 1",   "../node", "a/b", "n,m", "node@backend", "\\u0001", "n\\n", "\\u00e9",
        "%s", "<script>", "'",       "n;m", "*",   "a\\\"b",
    };
    static const char *const right[] = { "", "n", "node-1.example_2", "fe80::1", "UPPER" };
    struct document config = made(work, CONFIG("db", "", "1Gi")), after;

    for (size_t i = 0; i < LENGTH(wrong); i++) {
        REFUSED(
            document_patch(work, &config,
                           parse(work, arena_format(work->arena,
                                                    "{\"publish\":{\"nodeId\":\"%s\"}}", wrong[i])),
                           false, &after, err),
            BAD_REQUEST);
        ck_assert_msg(strncmp(err->message, "publish.nodeId: ", 16) == 0 &&
                          strstr(err->message, "letters, digits, '-', '.', '_', ':'"),
                      "%s", err->message);
    }
    for (size_t i = 0; i < LENGTH(right); i++, config = after)
        OK(document_patch(
            work, &config,
            parse(work, arena_format(work->arena, "{\"publish\":{\"nodeId\":\"%s\"}}", right[i])),
            false, &after, err));
}

WORK_TEST(pools_come_and_go_as_replicas_can) {
    static const char *const cases[][2] = {
        { POOLS(POOL("a") "," POOL("b") "," POOL("d")),
          "spec.policy.replicaPoolInfo: a replica cannot be moved to pool d; add the new pool first, and remove the old one when its replica is healthy." },
        { POOLS(POOL("a")),
          "spec.policy.replicaPoolInfo: 2 pools are removed; only one at a time can be." },
        { POOLS(POOL("a") "," POOL("b") "," POOL("c") "," POOL("c")),
          "spec.policy.replicaPoolInfo[3].poolName: c is named twice." },
        { POOLS(POOL("c") "," POOL("b") "," POOL("a") "," POOL("d") "," POOL("e")), NULL },
        { POOLS(POOL("b") "," POOL("c")), NULL },
    };
    static const char *const others[] = {
        "{\"phase\":\"Pending\"}",
        "{\"phase\":\"Reconciling\",\"poolInfo\":[\"a\",\"b\",\"x\"]}",
    };
    struct document config =
        made(work, "{\"metadata\":{\"name\":\"db\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
                   "\"provision\":{\"replicaCount\":3},\"policy\":{\"replicaPoolInfo\":[" POOL(
                       "a") "," POOL("b") "," POOL("c") "]}}}");

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct document after;

        for (size_t k = 0; k < LENGTH(others); k++) {
            set_status(work, "db", others[k]);
            config = found(work, "db");
            ck_assert_int_eq(
                document_patch(work, &config, parse(work, cases[i][0]), false, &after, err), -1);
        }
        set_status(work, "db", "{\"phase\":\"Bound\"}");
        config = found(work, "db");
        if (cases[i][1]) {
            REFUSED(document_patch(work, &config, parse(work, cases[i][0]), false, &after, err),
                    BAD_REQUEST);
            ck_assert_str_eq(err->message, cases[i][1]);
            continue;
        }
        OK(document_patch(work, &config, parse(work, cases[i][0]), false, &after, err));
        ck_assert_str_eq(json_text(work->arena, after.status), "{\"phase\":\"Reconciling\"}");
        ck_assert_int_eq(db_run(work->tx, err, "UPDATE documents SET body = $1",
                                DB_TEXT(json_text(work->arena, config.body))),
                         1);
    }
}

WORK_TEST(pools_that_were_chosen_are_the_configs_as_if_it_had_named_them) {
    static const char *const cases[][2] = {
        { POOLS(POOL("a") "," POOL("d")),
          "spec.policy.replicaPoolInfo: a replica cannot be moved to pool d; add the new pool first, and remove the old one when its replica is healthy." },
        { POOLS(POOL("a") "," POOL("b") "," POOL("c")), NULL },
        { POOLS(POOL("b")), NULL },
    };
    struct document config = made(work, CONFIG("db", "", "1Gi")), after;

    set_status(work, "db", "{\"phase\":\"Bound\",\"poolInfo\":[\"a\",\"b\"]}");
    config = found(work, "db");
    for (size_t i = 0; i < LENGTH(cases); i++) {
        int result = document_patch(work, &config, parse(work, cases[i][0]), true, &after, err);

        ck_assert_int_eq(result, cases[i][1] ? -1 : 0);
        if (cases[i][1])
            ck_assert_str_eq(err->message, cases[i][1]);
    }
}

WORK_TEST(the_last_pool_stays) {
    struct document
        config =
            made(work,
                 "{\"metadata\":{\"name\":\"db\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
                 "\"provision\":{\"replicaCount\":1},\"policy\":{\"replicaPoolInfo\":[" POOL(
                     "a") "]}}}"),
        after;

    set_status(work, "db", "{\"phase\":\"Bound\",\"poolInfo\":[\"a\"]}");
    config = found(work, "db");
    REFUSED(document_patch(work, &config,
                           parse(work, "{\"spec\":{\"policy\":{\"replicaPoolInfo\":null}}}"), false,
                           &after, err),
            BAD_REQUEST);
    ck_assert_str_eq(err->message,
                     "spec.policy.replicaPoolInfo: the last replica cannot be removed.");
}

WORK_TEST(a_second_size_waits_for_the_first) {
    struct document config = made(work, CONFIG("db", "", "1Gi")), after;

    OK(document_patch(work, &config, parse(work, "{\"spec\":{\"capacity\":{\"storage\":\"2Gi\"}}}"),
                      false, &after, err));
    set_status(work, "db", "{\"phase\":\"Bound\",\"capacity\":{\"storage\":\"1Gi\"}}");
    config = found(work, "db");
    REFUSED(document_patch(work, &config,
                           parse(work, "{\"spec\":{\"capacity\":{\"storage\":\"3Gi\"}}}"), false,
                           &after, err),
            CONFLICT);
    ck_assert_str_eq(err->message,
                     "spec.capacity.storage: the volume is being extended to 2Gi; try again.");
    OK(document_patch(work, &config,
                      parse(work, "{\"spec\":{\"capacity\":{\"storage\":\"2048Mi\"}}}"), false,
                      &after, err));
    set_status(work, "db", "{\"phase\":\"Bound\",\"capacity\":{\"storage\":\"2Gi\"}}");
    config = found(work, "db");
    OK(document_patch(work, &config, parse(work, "{\"spec\":{\"capacity\":{\"storage\":\"3Gi\"}}}"),
                      false, &after, err));
}

WORK_TEST(the_same_size_in_another_unit_is_no_edit) {
    struct document config = made(work, CONFIG("db", "", "16Mi")), after;
    static const char *const sizes[] = { "16Mi", "16384Ki", "16777216" };

    for (size_t i = 0; i < LENGTH(sizes); i++) {
        OK(document_patch(
            work, &config,
            parse(work, arena_format(work->arena, "{\"spec\":{\"capacity\":{\"storage\":\"%s\"}}}",
                                     sizes[i])),
            false, &after, err));
        ck_assert_int_eq(after.version, config.version);
        ck_assert_int_eq(after.generation, config.generation);
    }
    OK(document_patch(work, &config,
                      parse(work, "{\"spec\":{\"capacity\":{\"storage\":\"16385Ki\"}}}"), false,
                      &after, err));
    ck_assert_int_gt(after.generation, config.generation);
}

WORK_TEST(read_only_fields_of_a_spec_ignore_clients) {
    struct document config = made(work, CONFIG("db", "", "1Gi")), after;
    json_t *spec = json_object_get(config.body, "spec");

    json_object_set_new(spec, "cstorVolumeRef", parse(work, "{\"name\":\"v\"}"));
    OK(document_patch(work, &config,
                      parse(work, "{\"spec\":{\"cstorVolumeRef\":{\"name\":\"w\"},"
                                  "\"capacity\":{\"storage\":\"2Gi\"}}}"),
                      false, &after, err));
    ck_assert_str_eq(json_text(work->arena, json_object_get(json_object_get(after.body, "spec"),
                                                            "cstorVolumeRef")),
                     "{\"name\":\"v\"}");
}

WORK_TEST(a_deleted_document_stays_until_its_finalizers_are_removed) {
    struct document config =
        made(work, CONFIG("db", ",\"finalizers\":[\"mine\"],\"labels\":{\"a\":\"b\"}", "1Gi"));
    struct document deleted, after;
    int64_t count;

    OK(document_delete(work, &config, false, &deleted, err));
    ck_assert_int_eq(deleted.deleted_at, NOW_US);
    ck_assert_int_eq(deleted.version, 2);
    OK(document_delete(work, &deleted, false, &after, err));
    ck_assert_int_eq(after.version, 2);
    REFUSED(document_patch(work, &deleted, parse(work, "{\"publish\":{\"nodeId\":\"n\"}}"), false,
                           &after, err),
            CONFLICT);
    REFUSED(document_patch(work, &deleted,
                           parse(work, "{\"metadata\":{\"finalizers\":[\"more\"]}}"), false, &after,
                           err),
            CONFLICT);
    OK(document_patch(work, &deleted, parse(work, "{\"metadata\":{\"finalizers\":null}}"), false,
                      &after, err));
    ck_assert_str_eq(json_text(work->arena, after.finalizers), "[\"cvc.openebs.io/finalizer\"]");
    ck_assert_int_eq(found(work, "db").version, 3);
    OK(db_query_int(work->tx, &count, err,
                    "SELECT COUNT(*) FROM document_labels WHERE key = \'a\' AND value = \'b\'") -
       1);
    ck_assert_int_eq(count, 1);
}

/* The service has done its part, and the client's own comes last. */
WORK_TEST(other_finalizers_are_removed_by_their_owners) {
    struct document config = made(work, CONFIG("db", ",\"finalizers\":[\"mine\"]", "1Gi"));
    struct document deleted, after;

    OK(document_delete(work, &config, false, &deleted, err));
    after = deleted;
    after.finalizers = parse(work, "[\"mine\"]");
    OK(document_own_write(work, &deleted, &after, err));
    config = found(work, "db");
    OK(document_patch(work, &config, parse(work, "{}"), false, &after, err));
    ck_assert_int_eq(after.version, config.version);
    OK(document_patch(work, &config, parse(work, "{\"metadata\":{\"finalizers\":[]}}"), false,
                      &after, err));
    REFUSED(document_find(work, &kind_volume_config, "db", &after, err), NOT_FOUND);
}

WORK_TEST(a_document_has_no_more_finalizers_than_can_be_sent_back) {
    json_t *given = parse(work, CONFIG("db", "", "1Gi")), *finalizers = json_array();
    struct document config, after;

    json_object_set_new(json_object_get(given, "metadata"), "finalizers", finalizers);
    for (int i = 0; i < 15; i++)
        json_array_append_new(finalizers, json_sprintf("f%d", i));
    OK(document_create(work, &kind_volume_config, given, false, &config, err));
    OK(document_replace(work, &config, parse(work, whole(work, &config)), false, &after, err));
    ck_assert_int_eq(after.version, config.version);
    json_array_append_new(finalizers, json_string("more"));
    REFUSED(document_replace(work, &config, given, false, &after, err), BAD_REQUEST);
    ck_assert_str_eq(err->message,
                     "metadata.finalizers: at most 16 are allowed, including the service's own.");
    json_object_set_new(json_object_get(given, "metadata"), "name", json_string("web"));
    REFUSED(document_create(work, &kind_volume_config, given, false, &after, err), BAD_REQUEST);
}

WORK_TEST(a_document_without_finalizers_is_deleted_at_once_with_a_last_version) {
    struct document policy, deleted;
    int64_t version;

    OK(create(work, &kind_volume_policy,
              "{\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"b\"}},\"spec\":{}}", &policy,
              err));
    OK(document_delete(work, &policy, false, &deleted, err));
    REFUSED(document_find(work, &kind_volume_policy, "p", &deleted, err), NOT_FOUND);
    ck_assert_str_eq(err->message, "Volume policy p could not be found.");
    ck_assert_int_eq(db_query_int(work->tx, &version, err, "SELECT version FROM documents_gone"),
                     1);
    ck_assert_int_eq(version, 2);
    OK(db_query_int(work->tx, &version, err,
                    "SELECT COUNT(*) FROM document_labels WHERE key = \'a\' AND value = \'b\'") -
       1);
    ck_assert_int_eq(version, 0);
}

WORK_TEST(a_dry_run_returns_the_result_and_writes_nothing) {
    struct document config = made(work, CONFIG("db", "", "1Gi")), after;

    OK(document_create(work, &kind_volume_config, parse(work, CONFIG("new", "", "1Gi")), true,
                       &after, err));
    REFUSED(document_find(work, &kind_volume_config, "new", &after, err), NOT_FOUND);
    OK(document_patch(work, &config, parse(work, "{\"spec\":{\"capacity\":{\"storage\":\"2Gi\"}}}"),
                      true, &after, err));
    ck_assert_int_eq(after.generation, 2);
    OK(document_delete(work, &config, true, &after, err));
    ck_assert_str_eq(whole(work, &config),
                     whole(work, &(struct document[]){ found(work, "db") }[0]));
    ck_assert_int_eq(version_of_all(work), 1);
    REFUSED(document_create(work, &kind_volume_config, parse(work, CONFIG("db", "", "1Gi")), true,
                            &after, err),
            CONFLICT);
}

WORK_TEST(a_name_is_unique_in_its_project_and_a_uid_everywhere) {
    struct document config = made(work, CONFIG("db", "", "1Gi")), seen;
    struct context other = *work->context;

    work->context = &other;
    other.project_id = OTHER;
    other.is_admin = false;
    REFUSED(document_find(work, &kind_volume_config, "db", &seen, err), NOT_FOUND);
    REFUSED(document_find(work, &kind_volume_config, config.id, &seen, err), NOT_FOUND);
    other.is_admin = true;
    REFUSED(document_find(work, &kind_volume_config, "db", &seen, err), NOT_FOUND);
    OK(document_find(work, &kind_volume_config, config.id, &seen, err));
    REFUSED(document_find(work, &kind_volume_policy, config.id, &seen, err), NOT_FOUND);
    other.project_id = PROJECT;
    other.is_admin = false;
    OK(document_find(work, &kind_volume_config, config.id, &seen, err));
    OK(create(work, &kind_volume_config,
              arena_format(work->arena, CONFIG("%s", "", "1Gi"), config.id), &seen, err));
    OK(document_find(work, &kind_volume_config, config.id, &seen, err));
    ck_assert_str_eq(seen.name, "db");
}

static int64_t gone(struct work *work) {
    struct error err = { 0 };
    int64_t count;

    ck_assert_int_eq(db_query_int(work->tx, &count, &err, "SELECT COUNT(*) FROM documents_gone"),
                     1);
    return count;
}

WORK_TEST(deleted_documents_are_remembered_for_a_number_of_changes) {
    struct document policy, deleted;

    for (int i = 0; i < 3; i++) {
        OK(create(work, &kind_volume_policy, "{\"metadata\":{\"name\":\"p\"},\"spec\":{}}", &policy,
                  err));
        OK(document_delete(work, &policy, false, &deleted, err));
    }
    ck_assert_int_eq(gone(work), 3);
    OK(db_change(work->tx, err, "UPDATE document_versions SET version = $1",
                 DB_INT(DOCUMENT_CHANGES_KEPT + 2)));
    OK(create(work, &kind_volume_policy, "{\"metadata\":{\"name\":\"p\"},\"spec\":{}}", &policy,
              err));
    OK(document_delete(work, &policy, false, &deleted, err));
    ck_assert_int_eq(gone(work), 2); /* of the numbers 2, 4 and 6 the first two are too old */
}

WORK_TEST(a_restored_table_of_versions_changes_no_document) {
    struct document config = made(work, CONFIG("db", "", "1Gi")), after;

    OK(db_change(work->tx, err, "UPDATE document_versions SET version = 0"));
    REFUSED(document_patch(work, &config, parse(work, "{\"publish\":{\"nodeId\":\"n1\"}}"), false,
                           &after, err),
            INTERNAL);
    ck_assert_ptr_nonnull(strstr(err->message, "document_versions"));
}

WORK_TEST(a_config_that_is_in_use_or_has_clones_does_not_go) {
    struct document config = made(work, CONFIG("db", "", "1Gi")), after;

    OK(document_patch(work, &config, parse(work, "{\"publish\":{\"nodeId\":\"n1\"}}"), false,
                      &after, err));
    REFUSED(document_delete(work, &after, false, &config, err), CONFLICT);
    ck_assert_str_eq(err->message, "Volume config db is published on node n1.");
    OK(document_patch(work, &after, parse(work, "{\"publish\":{\"nodeId\":\"\"}}"), false, &config,
                      err));
    OK(create(work, &kind_volume_policy,
              "{\"metadata\":{\"name\":\"p\",\"labels\":{\"openebs.io/source-volume\":\"db\"}},"
              "\"spec\":{}}",
              &after, err));
    OK(document_patch(
        work, &config,
        parse(work, "{\"metadata\":{\"labels\":{\"openebs.io/source-volume\":\"db\"}}}"), false,
        &after, err));
    OK(document_delete(work, &after, true, &config, err));
    config = after;
    made(work, CONFIG("clone", ",\"labels\":{\"openebs.io/source-volume\":\"db\"}", "1Gi"));
    REFUSED(document_delete(work, &config, false, &after, err), CONFLICT);
    ck_assert_str_eq(err->message, "Volume config db has 1 clones, which must be deleted first.");
}

static struct document policy_made(struct work *work, const char *text) {
    struct error err = { 0 };
    struct document policy;

    ck_assert_msg(create(work, &kind_volume_policy, text, &policy, &err) == 0, "%s", err.message);
    return policy;
}

WORK_TEST(an_edited_policy_is_checked_as_a_new_one) {
    struct document policy = policy_made(work, "{\"metadata\":{\"name\":\"fast\"},\"spec\":{}}");
    const char *twice =
        "{\"metadata\":{},\"spec\":{\"replicaPoolInfo\":[" POOL("p") "," POOL("p") "]}}";
    struct document after;

    REFUSED(document_replace(work, &policy, parse(work, twice), false, &after, err), BAD_REQUEST);
    ck_assert_str_eq(err->message, "spec.replicaPoolInfo[1].poolName: p is named twice.");
    REFUSED(document_patch(work, &policy, parse(work, twice), false, &after, err), BAD_REQUEST);
    ck_assert_int_eq(version_of_all(work), 1);
}

/* An omitted field is no change. */
WORK_TEST(fixed_fields_stay_when_omitted) {
    static const char *const edits[] = {
        "{\"metadata\":{},\"spec\":{\"provision\":{}}}",
        "{\"metadata\":{},\"spec\":{\"provision\":null}}",
        "{\"metadata\":{},\"spec\":{}}",
    };
    struct document policy = policy_made(
        work, "{\"metadata\":{\"name\":\"fast\"},\"spec\":{\"provision\":{\"blockSize\":512}}}");

    for (size_t i = 0; i < LENGTH(edits); i++) {
        struct document after;

        OK(document_replace(work, &policy, parse(work, edits[i]), false, &after, err));
        ck_assert_str_eq(whole(work, &after), whole(work, &policy));
        OK(document_patch(work, &policy, parse(work, edits[i]), false, &after, err));
        ck_assert_str_eq(whole(work, &after), whole(work, &policy));
    }
}

/* The answer to the first was lost. */
WORK_TEST(a_patch_that_comes_again_changes_nothing_more) {
    static const char *const patches[] = {
        "{\"metadata\":{\"labels\":{\"a\":null}}}",
        "{\"metadata\":{\"annotations\":{\"a\":null}}}",
        "{\"metadata\":{\"finalizers\":null}}",
        "{\"spec\":{\"target\":{\"nodeSelector\":{\"a\":null}}}}",
        "{\"spec\":{\"target\":{\"resources\":{\"limits\":{\"cpu\":null}}}}}",
        "{\"spec\":{\"target\":{\"affinity\":{\"a\":null}}}}",
        "{\"spec\":{\"target\":{\"affinity\":{\"b\":{\"c\":null,\"d\":1}}}}}",
        "{\"spec\":{\"target\":{\"affinity\":null}}}",
    };
    struct document policy = policy_made(
        work,
        "{\"metadata\":{\"name\":\"fast\",\"labels\":{\"a\":\"b\"},\"annotations\":{\"a\":\"b\"},"
        "\"finalizers\":[\"a\"]},\"spec\":{\"target\":{\"nodeSelector\":{\"a\":\"b\"},"
        "\"resources\":{\"limits\":{\"cpu\":\"1\"}},\"affinity\":{\"a\":1,\"b\":{\"c\":2}}}}}");

    for (size_t i = 0; i < LENGTH(patches); i++) {
        struct document once, again;

        OK(document_patch(work, &policy, parse(work, patches[i]), false, &once, err));
        ck_assert_int_gt(once.version, policy.version);
        OK(document_patch(work, &once, parse(work, patches[i]), false, &again, err));
        ck_assert_str_eq(whole(work, &again), whole(work, &once));
        policy = again;
    }
}

/* Each edit is small, and others pay for every answer that shows the document. */
WORK_TEST(a_document_does_not_grow_for_ever) {
    struct document policy = policy_made(work, "{\"metadata\":{\"name\":\"fast\"},\"spec\":{}}");
    char *part = arena_alloc(work->arena, DOCUMENT_BYTES_MOST / 4);
    int edits = 0, result;

    memset(part, 'x', DOCUMENT_BYTES_MOST / 4);
    part[DOCUMENT_BYTES_MOST / 4 - 1] = '\0';
    do {
        const char *patch = arena_format(
            work->arena, "{\"spec\":{\"target\":{\"affinity\":{\"%d\":\"%s\"}}}}", edits, part);
        struct document after;

        result = document_patch(work, &policy, parse(work, patch), false, &after, err);
        policy = result == 0 ? after : policy;
    } while (result == 0 && ++edits < 8);
    ck_assert_int_eq(edits, 3);
    ck_assert_int_eq(err->kind, ERROR_TOO_LARGE);
    ck_assert_int_eq(version_of_all(work), 4);
}

/* Repeated edits of one document use up nothing but versions. */
WORK_TEST(a_thousand_edits_leave_one_row_of_each) {
    struct document policy = policy_made(
        work, "{\"metadata\":{\"name\":\"fast\",\"labels\":{\"a\":\"0\"}},\"spec\":{}}");

    for (int i = 1; i <= 1000; i++) {
        struct document after;

        OK(document_patch(
            work, &policy,
            parse(work, arena_format(work->arena, "{\"metadata\":{\"labels\":{\"a\":\"%d\"}}}", i)),
            false, &after, err));
        policy = after;
    }
    ck_assert_int_eq(policy.version, 1001);
    ck_assert_int_eq(policy.generation, 1);
    ck_assert_int_eq(gone(work), 0);
    for (size_t i = 0; i < 4; i++) {
        static const char *const counts[] = {
            "SELECT COUNT(*) FROM documents",
            "SELECT COUNT(*) FROM document_labels WHERE value = '1000'",
            "SELECT COUNT(*) FROM document_labels",
            "SELECT documents FROM document_counts",
        };
        int64_t count = 0;

        ck_assert_int_eq(db_query_int(work->tx, &count, err, counts[i]), 1);
        ck_assert_msg(count == 1, "%s: %d", counts[i], (int)count);
    }
}

WORK_TEST(a_list_of_large_ones_ends_early_and_goes_on) {
    bool cut = false;
    struct query query = {
        .where = "1=1", .order = "d.name", .limit = 1000, .bytes_most = 4096, .cut = &cut
    };
    struct document *documents;

    for (int i = 0; i < 3; i++)
        policy_made(work, arena_format(work->arena,
                                       "{\"metadata\":{\"name\":\"p%d\",\"annotations\":{"
                                       "\"a\":\"%0200d\"}},\"spec\":{}}",
                                       i, i));
    ck_assert_int_eq(document_list(work, &query, &documents, err), 1);
    ck_assert(cut);
    ck_assert_str_eq(documents[0].name, "p0");
    cut = false;
    query.bytes_most = 0;
    ck_assert_int_eq(document_list(work, &query, &documents, err), 3);
    ck_assert(!cut);
}

CHECK_MAIN("document_edit", a_policy_is_taken_as_it_is_written_and_shown_with_its_defaults,
           each_field_of_a_policy_has_its_range,
           a_config_begins_pending_with_a_finalizer_and_the_requested_size,
           an_invalid_document_is_refused_and_not_created,
           a_token_of_no_project_creates_no_document, a_name_is_unique,
           an_edit_by_a_number_that_is_not_the_last_is_refused,
           an_edit_that_changes_nothing_has_no_number, a_change_of_a_fixed_field_is_refused_by_name,
           one_that_is_pending_without_a_policy_may_be_given_one,
           a_node_is_named_as_agents_are_or_refused, pools_come_and_go_as_replicas_can,
           pools_that_were_chosen_are_the_configs_as_if_it_had_named_them, the_last_pool_stays,
           a_second_size_waits_for_the_first, the_same_size_in_another_unit_is_no_edit,
           read_only_fields_of_a_spec_ignore_clients,
           a_deleted_document_stays_until_its_finalizers_are_removed,
           other_finalizers_are_removed_by_their_owners,
           a_document_has_no_more_finalizers_than_can_be_sent_back,
           a_document_without_finalizers_is_deleted_at_once_with_a_last_version,
           a_dry_run_returns_the_result_and_writes_nothing,
           a_name_is_unique_in_its_project_and_a_uid_everywhere,
           deleted_documents_are_remembered_for_a_number_of_changes,
           a_config_that_is_in_use_or_has_clones_does_not_go,
           a_restored_table_of_versions_changes_no_document,
           an_edited_policy_is_checked_as_a_new_one, fixed_fields_stay_when_omitted,
           a_patch_that_comes_again_changes_nothing_more, a_document_does_not_grow_for_ever,
           a_thousand_edits_leave_one_row_of_each, a_list_of_large_ones_ends_early_and_goes_on)

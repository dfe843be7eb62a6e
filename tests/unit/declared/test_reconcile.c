#include "tests/lib/declared.h"

#define BOUND       "\"Bound\""
#define PENDING     "\"Pending\""
#define RECONCILING "\"Reconciling\""

/* One that is bound, on pools a to c. */
static const char *bound(struct work *work) {
    const char *id;

    put_pools(work, 4);
    id = declare(
        work, &kind_volume_config,
        DECLARED("db", "10Gi", 3, POOLS(POOL("pool-a") "," POOL("pool-b") "," POOL("pool-c"))));
    settle(work, id);
    report_made(work, id);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(config_at(work, id, "status.phase"), BOUND);
    return id;
}

/* The same, served by host-a. */
static const char *served(struct work *work) {
    const char *id = bound(work);
    struct error err = { 0 };

    ck_assert_int_eq(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", &err), 0);
    settle(work, id);
    report_served(work, id, -1, NULL);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    return id;
}

WORK_TEST(a_config_gets_a_volume_and_replicas_and_is_bound_when_they_are_made) {
    struct document *replicas = NULL;
    const char *id;

    (void)err;
    put_pools(work, 4);
    id = declare(work, &kind_volume_config, DECLARED("db", "10Gi", 3, ""));
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(config_at(work, id, "status"), "{\"phase\":\"Pending\"}");
    ck_assert_uint_eq(replicas_of(work, id, &replicas), 3);
    ck_assert_str_eq(replicas[0].name, "db-pool-a");
    ck_assert_str_eq(replicas[1].node, "host-b");
    ck_assert_str_eq(at(work, &replicas[2], "status.phase"), "\"Init\"");
    ck_assert_str_eq(at(work, &replicas[2], "spec.members"),
                     arena_format(work->arena, "[\"%s\",\"%s\",\"%s\"]", replicas[0].id,
                                  replicas[1].id, replicas[2].id));
    ck_assert_str_eq(volume_of(work, id).name, "db");
    ck_assert_ptr_null(volume_of(work, id).node);
    ck_assert_str_eq(last_event(work, id), "Normal Provisioning 1: 3 replicas are being created.");

    report(work, &replicas[0], "{\"phase\":\"Healthy\"}");
    report(work, &replicas[1], "{\"phase\":\"Healthy\"}");
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(config_at(work, id, "status.phase"), PENDING);
    report(work, &replicas[2], "{\"phase\":\"Healthy\"}");
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Bound\"");
    ck_assert_str_eq(config_at(work, id, "status.capacity"), "{\"storage\":\"10Gi\"}");
    ck_assert_str_eq(config_at(work, id, "status.poolInfo"), "[\"pool-a\",\"pool-b\",\"pool-c\"]");
    ck_assert_str_eq(condition_at(work, id, CONDITION_AVAILABLE), "True NotPublished");
    ck_assert_str_eq(condition_at(work, id, CONDITION_REDUNDANT), "True AllReplicas");
    ck_assert_str_eq(conditions_at(work, id), "null");
    ck_assert_str_eq(config_at(work, id, "spec.cstorVolumeRef.uid"),
                     arena_format(work->arena, "\"%s\"", volume_of(work, id).id));
    ck_assert_str_eq(last_event(work, id), "Normal Provisioned 1: The volume is ready.");
}

WORK_TEST(the_volume_has_the_settings_of_its_policy) {
    const char *id;

    (void)err;
    put_pools(work, 3);
    declare(work, &kind_volume_policy,
            "{\"metadata\":{\"name\":\"fast\"},\"spec\":{\"provision\":{\"blockSize\":512},"
            "\"target\":{\"queueDepth\":\"64\",\"luWorkers\":8,"
            "\"qos\":{\"bytesPerSecond\":7}}}}");
    id = declare(work, &kind_volume_config,
                 "{\"metadata\":{\"name\":\"db\",\"annotations\":{\"openebs.io/volume-policy\":"
                 "\"fast\"}},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
                 "\"provision\":{\"replicaCount\":3}}}");
    settle(work, id);
    ck_assert_str_eq(config_at(work, id, "spec.policy.target.luWorkers"), "8");
    ck_assert_str_eq(volume_at(work, id, "spec.blockSize"), "512");
    ck_assert_str_eq(volume_at(work, id, "spec.queueDepth"), "\"64\"");
    ck_assert_str_eq(volume_at(work, id, "spec.luWorkers"), "8");
    ck_assert_str_eq(volume_at(work, id, "spec.qos"), "{\"iops\":0,\"bytesPerSecond\":7}");
    ck_assert_str_eq(volume_at(work, id, "spec.replicationFactor"), "3");
    ck_assert_str_eq(volume_at(work, id, "spec.consistencyFactor"), "2");
    report_made(work, id);
    settle(work, id);
    sql(work, "UPDATE documents SET body = replace(body, '\"luWorkers\":8', '\"luWorkers\":9') "
              "WHERE kind = 'CStorVolumePolicy'");
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(volume_at(work, id, "spec.luWorkers"), "8");
}

WORK_TEST(without_a_policy_the_defaults_count) {
    const char *id;

    (void)err;
    put_pools(work, 1);
    id = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 1, ""));
    settle(work, id);
    ck_assert_str_eq(config_at(work, id, "spec.policy.target.queueDepth"), "\"32\"");
    ck_assert_str_eq(volume_at(work, id, "spec.luWorkers"), "6");
    ck_assert_str_eq(volume_at(work, id, "spec.consistencyFactor"), "1");
}

WORK_TEST(a_missing_policy_is_reported_and_awaited) {
    static const char named[] =
        "{\"metadata\":{\"name\":\"db\",\"labels\":{\"openebs.io/volume-policy\":\"fast\"}},"
        "\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"provision\":{\"replicaCount\":1}}}";
    const char *id;

    put_pools(work, 1);
    context_of(work)->project_id = OTHER; /* whose policies are not ours, by name or by uid */
    declare(work, &kind_volume_policy, "{\"metadata\":{\"name\":\"fast\"},\"spec\":{}}");
    context_of(work)->project_id = PROJECT;
    id = declare(work, &kind_volume_config, named);
    ck_assert_int_eq(reconcile_config(work, id, err), RECONCILE_AGAIN);
    ck_assert_int_eq(reconcile_config(work, id, err), RECONCILE_AGAIN);
    ck_assert_str_eq(config_at(work, id, "status"), "{\"phase\":\"Pending\"}");
    ck_assert_str_eq(last_event(work, id),
                     "Warning Provisioning 2: Volume policy fast could not be found.");
    declare(work, &kind_volume_policy, "{\"metadata\":{\"name\":\"fast\"},\"spec\":{}}");
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_uint_eq(replicas_of(work, id, &(struct document *){ NULL }), 1);
}

WORK_TEST(too_few_pools_create_nothing_and_are_reported) {
    const char *id;
    int64_t version;

    put_pools(work, 2);
    id = declare(work, &kind_volume_config, DECLARED("db", "10Gi", 3, ""));
    version = last_version(work);
    ck_assert_int_eq(reconcile_config(work, id, err), RECONCILE_AGAIN);
    ck_assert_int_eq(last_version(work), version);
    ck_assert_str_eq(
        last_event(work, id),
        "Warning Provisioning 1: 3 replicas need 3 pools, and 2 of 2 can be used: 0 are offline, 0 take no writes, 0 have too little space for 10Gi.");
    put_pools(work, 3);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
}

/* Without the words of its node, which are not the project's. */
WORK_TEST(a_replica_that_cannot_be_made_is_reported) {
    static const char *const phases[] = { "Init", "Error" };
    struct document *replicas = NULL;
    const char *id;

    put_pools(work, 1);
    id = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 1, ""));
    settle(work, id);
    for (int i = 0; i < 2; i++) {
        replicas_of(work, id, &replicas);
        report(work, &replicas[0],
               arena_format(work->arena, "{\"phase\":\"%s\",\"message\":\"/srv/a: no space\"}",
                            phases[i]));
        ck_assert_int_eq(reconcile_config(work, id, err), RECONCILE_AGAIN);
        ck_assert_str_eq(
            last_event(work, id),
            arena_format(work->arena,
                         "Warning Provisioning %d: Replica %s is not made yet; its node retries.",
                         i + 1, replicas[0].id));
        ck_assert_str_eq(config_at(work, id, "status.phase"), PENDING);
    }
    replicas_of(work, id, &replicas);
    report(work, &replicas[0], "{\"phase\":\"Init\"}");
    ck_assert_int_eq(reconcile_config(work, id, err), RECONCILE_SETTLED);
}

WORK_TEST(a_bound_config_stays_bound_whatever_becomes_of_its_replicas) {
    const char *id = bound(work);
    struct document *replicas = NULL;

    (void)err;
    replicas_of(work, id, &replicas);
    report(work, &replicas[0], "{\"phase\":\"Error\",\"message\":\"gone\"}");
    report(work, &replicas[1], "{\"phase\":\"Offline\"}");
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(config_at(work, id, "status.phase"), BOUND);
}

/* ---- where it is served ---- */

WORK_TEST(a_config_is_served_only_once_it_is_bound) {
    const char *id;

    put_pools(work, 1);
    id = declare(work, &kind_volume_config,
                 "{\"metadata\":{\"name\":\"db\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
                 "\"provision\":{\"replicaCount\":1}},\"publish\":{\"nodeId\":\"host-x\"}}");
    settle(work, id);
    ck_assert_ptr_null(volume_of(work, id).node);
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"\"");
    report_made(work, id);
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-x");
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"host-x\"");
}

WORK_TEST(another_node_gets_it_when_the_first_reports_its_stop) {
    const char *id = served(work);
    int64_t generation, first = volume_epoch(work, id);

    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-b\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"\"");
    /* It has not seen this spec: its report about the last one does not count. */
    generation = volume_of(work, id).generation;
    report(work, &(struct document[]){ volume_of(work, id) }[0],
           arena_format(work->arena,
                        "{\"phase\":\"Healthy\",\"capacity\":\"10Gi\",\"observedGeneration\":%jd}",
                        (intmax_t)generation - 1));
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    report_served(work, id, -1, NULL); /* it has, and is still at it */
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    report_stopped(work, id);
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-b");
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"host-b\"");
    ck_assert_int_gt(volume_epoch(work, id), first);
}

/* The database was restored from a backup: its node finds that replicas know a higher epoch. */
WORK_TEST(an_epoch_that_replicas_know_to_be_over_is_renewed) {
    const char *id = served(work);
    struct document volume = volume_of(work, id), after;
    int64_t first = volume_epoch(work, id), second;
    const char *status =
        arena_format(work->arena,
                     "{\"phase\":\"Offline\",\"target\":{\"nodeId\":\"host-a\",\"state\":"
                     "\"Down\",\"epoch\":%jd,\"highestEpoch\":%jd}}",
                     (intmax_t)first, (intmax_t)first + 100000);

    OK(document_status_put(work, &volume, "host-a", tree(work, status), &after, err));
    OK(settle(work, id));
    second = volume_epoch(work, id);
    ck_assert_int_gt(second, first + 100000);
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    ck_assert(has_event(work, id, "Warning EpochRenewed 1: "));
    OK(settle(work, id)); /* that status is of the epoch before */
    ck_assert_int_eq(volume_epoch(work, id), second);
}

/* An epoch assigned after a backup is not assigned again: two targets of one epoch could both
 * write. */
WORK_TEST(epochs_grow_by_steps_that_do_not_repeat) {
    const char *id = bound(work);
    int64_t before = 0, steps[6];

    for (size_t i = 0; i < LENGTH(steps); i++) {
        OK(edit(work, id,
                i % 2 ? "{\"publish\":{\"nodeId\":\"host-a\"}}"
                      : "{\"publish\":{\"nodeId\":\"host-b\"}}",
                err));
        OK(settle(work, id));
        steps[i] = volume_epoch(work, id) - before;
        before += steps[i];
        ck_assert_int_gt(steps[i], 0);
        ck_assert_int_le(steps[i], 65536);
        for (size_t k = 0; k < i; k++)
            ck_assert_int_ne(steps[k], steps[i]);
    }
}

/* As a node reports that it is about to serve the volume, in the epoch that it has seen. */
static int claim(struct work *work, const struct document *volume, int64_t epoch,
                 struct error *err) {
    struct document after;

    return document_status_put(
        work, volume, volume->node,
        tree(work, arena_format(work->arena,
                                "{\"phase\":\"Init\",\"target\":{\"nodeId\":\"%s\",\"state\":"
                                "\"Down\",\"epoch\":%jd}}",
                                volume->node, (intmax_t)epoch)),
        &after, err);
}

WORK_TEST(a_volume_is_revoked_at_once_from_a_node_without_a_claim) {
    const char *id = bound(work);
    struct document seen;
    int64_t second;

    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-z\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-z");
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    OK(settle(work, id));
    ck_assert_ptr_null(volume_of(work, id).node);
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"\"");
    ck_assert_str_eq(last_event(work, id),
                     "Normal Unpublished 1: Node host-z had not started to serve the volume.");
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-z\"}}", err));
    OK(settle(work, id));
    seen = volume_of(work, id);
    second = volume_epoch(work, id);
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    ck_assert_int_gt(volume_epoch(work, id), second);
    /* It comes too late, whether it had read the volume before or reads it now. */
    REFUSED(claim(work, &seen, second, err), CONFLICT);
    seen = volume_of(work, id);
    REFUSED(
        document_status_put(work, &seen, "host-z", tree(work, "{\"phase\":\"Init\"}"), &seen, err),
        CONFLICT);
    ck_assert_str_eq(volume_at(work, id, "status.claimedEpoch"), "null");
}

static int64_t claimed_epoch(struct work *work, const char *id) {
    return strtoll(volume_at(work, id, "status.claimedEpoch"), NULL, 10);
}

WORK_TEST(a_volume_is_revoked_from_a_node_with_a_claim_by_its_report_alone) {
    const char *id = bound(work);
    struct document volume;
    int64_t first;

    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", err));
    OK(settle(work, id));
    volume = volume_of(work, id);
    first = volume_epoch(work, id);
    OK(claim(work, &volume, first, err));
    ck_assert_int_eq(claimed_epoch(work, id), first);
    /* An earlier report arrives late, and withdraws nothing. */
    volume = volume_of(work, id);
    report(work, &volume, "{\"phase\":\"Init\",\"claimedEpoch\":0}");
    ck_assert_int_eq(claimed_epoch(work, id), first);
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    report_stopped(work, id);
    OK(settle(work, id));
    ck_assert_ptr_null(volume_of(work, id).node);
    /* The next assignment needs a report of its own. */
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", err));
    OK(settle(work, id));
    volume = volume_of(work, id);
    OK(claim(work, &volume, first, err));
    ck_assert_int_eq(claimed_epoch(work, id), first);
    volume = volume_of(work, id);
    OK(claim(work, &volume, volume_epoch(work, id) + 7, err));
    ck_assert_int_eq(claimed_epoch(work, id), volume_epoch(work, id));
}

WORK_TEST(a_published_volume_is_not_served_yet_before_the_controller_assigns_it) {
    const char *id = served(work);

    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    OK(settle(work, id));
    report_stopped(work, id);
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Healthy\"");
    OK(edit(work, id, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", err));
    ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Healthy\"");
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", err));
    ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Init\"");
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Init\"");
    report_served(work, id, -1, NULL);
    ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Healthy\"");
}

/* No look of the controller lies between the report and the next publish. */
WORK_TEST(a_volume_published_again_behind_its_stop_is_not_served_yet) {
    const char *id = served(work);
    int64_t epoch = volume_epoch(work, id);

    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    OK(settle(work, id));
    report_stopped(work, id);
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"host-a\"");
    ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Init\"");
    ck_assert_int_gt(volume_epoch(work, id), epoch);

    /* With another change the report is not about all of the request. */
    report_served(work, id, -1, NULL);
    OK(settle(work, id));
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    OK(settle(work, id));
    report_stopped(work, id);
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\",\"export\":\"file\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Init\"");
}

/* Its node serves the volume, by the spec before. */
static void report_served_late(struct work *work, const char *id) {
    struct document volume = volume_of(work, id);

    report(work, &volume,
           arena_format(work->arena,
                        "{\"phase\":\"Healthy\",\"capacity\":\"10Gi\",\"observedGeneration\":%jd,"
                        "\"target\":{\"nodeId\":\"%s\",\"state\":\"Serving\",\"address\":\"x\"}}",
                        (intmax_t)volume.generation - 1, volume.node));
}

static void publish(struct work *work, const char *id, const char *node) {
    struct error err = { 0 };

    ck_assert_int_eq(
        edit(work, id, arena_format(work->arena, "{\"publish\":{\"nodeId\":\"%s\"}}", node), &err),
        0);
}

static void take_step(struct work *work, const char *id, char step) {
    switch (step) {
    case 'l': /* the controller looks */
        settle(work, id);
        break;
    case 'r':
        report_served(work, id, -1, NULL);
        break;
    case 'o':
        report_served_late(work, id);
        break;
    case 's':
        report_stopped(work, id);
        break;
    default:
        publish(work, id, step == 'a' ? "host-a" : step == 'b' ? "host-b" : "");
    }
}

/* Each begins with a volume that host-a serves, and has the phase (its first letter) after each
 * step. */
static const char *const publishes[][2] = {
    { "-al", "HHH" },             /* the stop was not requested */
    { "-lblorslr", "HHIIIIIIH" }, /* elsewhere, while its node stops */
    { "blorslr", "IIIIIIH" },     /* the same in one edit */
    { "-lalor", "HHIIIH" },       /* there again */
    { "-lsalr", "HHHIIH" },       /* and behind the stop */
    /* Taken back: */
    { "-lsla-l", "HHHHIIH" }, /* before the controller looked */
    { "bal", "IIH" },         /* the volume was served meanwhile */
    { "-la-l", "HHIIH" },     /* while its node stops */
    { "bl-lsl", "IIIHHH" },
    { "bls-l", "IIIIH" },
};

WORK_TEST(a_published_volume_has_no_phase_of_its_former_node) {
    const char *id = served(work);

    (void)err;
    for (size_t i = 0; i < LENGTH(publishes); i++) {
        const char *steps = publishes[i][0], *phases = publishes[i][1];

        for (size_t k = 0; steps[k]; k++) {
            const char *phase;

            take_step(work, id, steps[k]);
            phase = volume_at(work, id, "status.phase");
            ck_assert_msg(phase[1] == phases[k], "%s, step %zu: %s", steps, k, phase);
        }
        ck_assert_str_eq(volume_at(work, id, "status.servedPhase"), "null");
        take_step(work, id, '-');
        settle(work, id);
        if (volume_of(work, id).node)
            take_step(work, id, 's');
        settle(work, id);
        for (const char *step = "alrl"; *step; step++)
            take_step(work, id, *step);
        ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Healthy\"");
    }
}

/* A report without an epoch is about the current one. */
WORK_TEST(a_target_without_an_epoch_is_taken_for_the_present_ones) {
    const char *id = served(work);

    ck_assert_int_eq(claimed_epoch(work, id), volume_epoch(work, id));
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
}

WORK_TEST(the_export_is_a_file_on_request) {
    const char *id = served(work);

    ck_assert_str_eq(volume_at(work, id, "spec.export"), "\"nbd\"");
    ck_assert_int_eq(edit(work, id, "{\"publish\":{\"export\":\"iscsi\"}}", err), -1);
    OK(edit(work, id, "{\"publish\":{\"export\":\"file\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.export"), "\"file\"");
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"host-a\"");
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\",\"export\":null}}", err));
    OK(settle(work, id));
    report_stopped(work, id);
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.export"), "\"file\""); /* not published */
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-b\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.export"), "\"nbd\"");
}

#define CLIENT(name)       "{\"nodeId\":\"" name "\"}"
#define LET_IN(node, list) "{\"publish\":{\"nodeId\":\"" node "\",\"clients\":[" list "]}}"

WORK_TEST(other_hosts_are_admitted_where_it_is_served) {
    const char *id = bound(work);
    int64_t epoch;

    /* No host is admitted where nothing is served, and none twice. */
    ck_assert_int_eq(edit(work, id, LET_IN("", CLIENT("host-b")), err), -1);
    ck_assert_int_eq(err->kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(edit(work, id, LET_IN("host-a", CLIENT("host-a")), err), -1);
    ck_assert_int_eq(edit(work, id, LET_IN("host-a", CLIENT("b") "," CLIENT("b")), err), -1);
    ck_assert_int_eq(edit(work, id, LET_IN("host-a", "{}"), err), -1);
    ck_assert_int_eq(edit(work, id, LET_IN("host-a", CLIENT("*")), err), -1);
    ck_assert_int_eq(edit(work, id, LET_IN("host-a", CLIENT("b,CN=c")), err), -1);
    OK(edit(work, id, LET_IN("host-a", CLIENT("host-b")), err));
    settle(work, id);
    report_served(work, id, -1, NULL);
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.clients"), "[" CLIENT("host-b") "]");
    epoch = volume_epoch(work, id);

    /* It stays on the node that the hosts use, unless they are removed in the same edit. */
    ck_assert_int_eq(edit(work, id, "{\"publish\":{\"nodeId\":\"host-b\"}}", err), -1);
    ck_assert_int_eq(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err), -1);
    ck_assert_int_eq(edit(work, id, LET_IN("host-c", CLIENT("host-b")), err), -1);
    ck_assert_int_eq(err->kind, ERROR_CONFLICT);
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"host-a\"");

    OK(edit(work, id, LET_IN("host-a", CLIENT("host-b") "," CLIENT("host-c")), err));
    OK(settle(work, id));
    OK(edit(work, id, LET_IN("host-a", CLIENT("host-c")), err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.clients"), "[" CLIENT("host-c") "]");
    OK(edit(work, id, LET_IN("", ""), err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.clients"), "null");
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"\"");
    ck_assert_int_eq(volume_epoch(work, id), epoch);
}

WORK_TEST(a_node_that_is_assigned_again_continues) {
    const char *id = served(work);

    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"\"");
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"host-a\"");
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    OK(settle(work, id));
    report_stopped(work, id);
    OK(settle(work, id));
    ck_assert_ptr_null(volume_of(work, id).node);
    ck_assert_str_eq(last_event(work, id),
                     "Normal Unpublished 1: Node host-a has stopped serving the volume.");
}

/* ---- size ---- */

WORK_TEST(a_volume_that_is_not_served_grows_at_once) {
    const char *id = bound(work);

    OK(edit(work, id, "{\"spec\":{\"capacity\":{\"storage\":\"20Gi\"}}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.capacity.storage"), "\"20Gi\"");
    ck_assert_str_eq(conditions_at(work, id), "null");
    ck_assert_str_eq(volume_at(work, id, "spec.capacity"), "\"20Gi\"");
    ck_assert_str_eq(volume_at(work, id, "status.capacity"), "\"20Gi\"");
    ck_assert_str_eq(last_event(work, id),
                     "Normal VolumeResizeSuccessful 1: The size of the volume is 20Gi.");
}

WORK_TEST(a_volume_in_use_has_grown_when_its_node_reports_it) {
    const char *id = served(work);

    OK(edit(work, id, "{\"spec\":{\"capacity\":{\"storage\":\"20Gi\"}}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.capacity.storage"), "\"10Gi\"");
    ck_assert_str_eq(conditions_at(work, id),
                     "[{\"type\":\"Resizing\",\"status\":\"True\",\"lastUpdateTime\":\"2027-01-"
                     "15T08:00:00Z\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\",\"reason\":"
                     "\"Resizing\",\"message\":\"The volume grows.\"}]");
    ck_assert_str_eq(last_event(work, id),
                     "Normal Resizing 1: The volume grows from 10Gi to 20Gi.");
    ck_assert_str_eq(config_at(work, id, "status.phase"), BOUND);
    report_served(work, id, -1, NULL);
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.capacity.storage"), "\"20Gi\"");
    ck_assert_str_eq(conditions_at(work, id), "null");
}

WORK_TEST(a_failed_extend_is_reported_once_and_retried) {
    const char *id = served(work);
    struct document volume;

    OK(edit(work, id, "{\"spec\":{\"capacity\":{\"storage\":\"20Gi\"}}}", err));
    OK(settle(work, id));
    volume = volume_of(work, id);
    report(work, &volume,
           "{\"phase\":\"Healthy\",\"capacity\":\"10Gi\",\"target\":{\"nodeId\":\"host-a\","
           "\"state\":\"Serving\"},\"conditions\":[{\"type\":\"VolumeResizeFailed\",\"status\":"
           "\"True\",\"message\":\"/srv/pool-a: no answer\"}]}");
    OK(settle(work, id));
    OK(settle(work, id));
    ck_assert_str_eq(
        last_event(work, id),
        "Warning VolumeResizeFailed 1: Node host-a could not extend the volume, and retries.");
    ck_assert_ptr_null(strstr(config_at(work, id, "status"), "/srv"));
    ck_assert_ptr_nonnull(strstr(conditions_at(work, id), "\"Resizing\""));
    ck_assert_ptr_nonnull(strstr(conditions_at(work, id), "\"VolumeResizeFailed\""));
    ck_assert_str_eq(config_at(work, id, "status.capacity.storage"), "\"10Gi\"");
    report_served(work, id, -1, NULL);
    OK(settle(work, id));
    ck_assert_str_eq(conditions_at(work, id), "null");
    ck_assert_str_eq(config_at(work, id, "status.capacity.storage"), "\"20Gi\"");
}

WORK_TEST(a_size_requested_before_it_is_bound_is_applied_afterwards) {
    struct document *replicas = NULL;
    const char *id;

    put_pools(work, 1);
    id = declare(work, &kind_volume_config, DECLARED("db", "10Gi", 1, ""));
    settle(work, id);
    OK(edit(work, id, "{\"spec\":{\"capacity\":{\"storage\":\"20Gi\"}}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.capacity"), "\"10Gi\"");
    report_made(work, id);
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.capacity.storage"), "\"20Gi\"");
    replicas_of(work, id, &replicas);
    ck_assert_str_eq(at(work, &replicas[0], "spec.capacity"), "\"10Gi\"");
    ck_assert_int_eq(replicas[0].generation, 1);
}

WORK_TEST(a_volume_has_whole_blocks) {
    const char *id;

    put_pools(work, 1);
    id = declare(work, &kind_volume_config, DECLARED("db", "10000001", 1, ""));
    settle(work, id);
    report_made(work, id);
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.capacity"), "\"9856Ki\"");
    ck_assert_str_eq(config_at(work, id, "status.capacity.storage"), "\"9856Ki\"");
    OK(edit(work, id, "{\"spec\":{\"capacity\":{\"storage\":\"10000002\"}}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.capacity.storage"), "\"9856Ki\"");
    OK(edit(work, id, "{\"spec\":{\"capacity\":{\"storage\":\"10G\"}}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.capacity.storage"), "\"9765632Ki\"");
}

/* ---- policy and pools ---- */

WORK_TEST(an_edited_policy_is_reconciling_until_the_node_has_made_it_true) {
    const char *id = served(work);

    OK(edit(work, id, "{\"spec\":{\"policy\":{\"target\":{\"luWorkers\":9}}}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.phase"), RECONCILING);
    ck_assert_str_eq(volume_at(work, id, "spec.luWorkers"), "9");
    report_served(work, id, -1, NULL);
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.phase"), BOUND);
    ck_assert_str_eq(last_event(work, id), "Normal PolicySync 1: The policy holds.");
}

WORK_TEST(limits_of_clients_are_edited_and_reset) {
    static const char none[] = "{\"iops\":0,\"bytesPerSecond\":0}";
    const char *id = served(work);

    ck_assert_str_eq(volume_at(work, id, "spec.qos"), none);
    OK(edit(work, id, "{\"spec\":{\"policy\":{\"target\":{\"qos\":{\"iops\":500}}}}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.phase"), RECONCILING);
    ck_assert_str_eq(volume_at(work, id, "spec.qos"), "{\"iops\":500,\"bytesPerSecond\":0}");
    report_served(work, id, -1, NULL);
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.phase"), BOUND);
    ck_assert_int_eq(
        edit(work, id, "{\"spec\":{\"policy\":{\"target\":{\"qos\":{\"iops\":-1}}}}}", err), -1);
    ck_assert_int_eq(
        edit(work, id, "{\"spec\":{\"policy\":{\"target\":{\"qos\":{\"iops\":1000000000000001}}}}}",
             err),
        -1);
    ck_assert_str_eq(volume_at(work, id, "spec.qos"), "{\"iops\":500,\"bytesPerSecond\":0}");
    OK(edit(work, id, "{\"spec\":{\"policy\":{\"target\":{\"qos\":null}}}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.qos"), none);
}

#define FOUR                                                                                   \
    "{\"spec\":{\"policy\":{\"replicaPoolInfo\":[" POOL("pool-a") "," POOL("pool-b") "," POOL( \
        "pool-c") "," POOL("pool-d") "]}}}"
#define TWO "{\"spec\":{\"policy\":{\"replicaPoolInfo\":[" POOL("pool-a") "," POOL("pool-c") "]}}}"

WORK_TEST(a_new_pool_counts_when_its_replica_has_been_rebuilt) {
    const char *id = served(work);
    struct document *replicas = NULL;

    OK(edit(work, id, FOUR, err));
    OK(settle(work, id));
    ck_assert_uint_eq(replicas_of(work, id, &replicas), 4);
    ck_assert_str_eq(at(work, &replicas[3], "status.phase"), "\"Recreate\"");
    ck_assert_str_eq(at(work, &replicas[3], "spec.members"), "null");
    ck_assert_str_eq(replicas[3].node, "host-d");
    ck_assert_str_eq(volume_at(work, id, "spec.replicationFactor"), "4");
    ck_assert_str_eq(volume_at(work, id, "spec.consistencyFactor"), "3");
    ck_assert_str_eq(config_at(work, id, "status.phase"), RECONCILING);
    ck_assert_str_eq(config_at(work, id, "status.poolInfo"), "[\"pool-a\",\"pool-b\",\"pool-c\"]");
    report_served(work, id, 3, "Rebuilding");
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.phase"), RECONCILING);
    report(work, &replicas[3], "{\"phase\":\"Healthy\"}");
    report_served(work, id, -1, NULL);
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.phase"), BOUND);
    ck_assert_str_eq(config_at(work, id, "status.poolInfo"),
                     "[\"pool-a\",\"pool-b\",\"pool-c\",\"pool-d\"]");
    ck_assert_str_eq(conditions_at(work, id), "null");
}

WORK_TEST(a_pool_without_space_for_a_replica_is_reported_and_awaited) {
    const char *id = served(work);

    put_pool(work, "pool-d", "host-d", 9 * GIB);
    OK(edit(work, id, FOUR, err));
    ck_assert_int_eq(reconcile_config(work, id, err), RECONCILE_AGAIN);
    ck_assert_str_eq(last_event(work, id), "Warning ScaleUp 1: Pool pool-d has too little space.");
    ck_assert_str_eq(config_at(work, id, "status.phase"), RECONCILING);
    put_pool(work, "pool-d", "host-d", 10 * GIB);
    OK(settle(work, id));
    ck_assert_uint_eq(replicas_of(work, id, &(struct document *){ NULL }), 4);
}

/* As when a pool that had replaced another stands for it no more. */
WORK_TEST(no_replica_leaves_before_the_one_that_comes_for_it_is_made_and_rebuilt) {
    const char *id = served(work);
    struct document *replicas = NULL;

    sql(work, "UPDATE documents SET body = REPLACE(body, 'pool-c', 'pool-d') "
              "WHERE kind = 'CStorVolumeConfig'");
    OK(reconcile_config(work, id, err));
    ck_assert_str_eq(volume_at(work, id, "spec.removing"), "null");
    OK(settle(work, id));
    ck_assert_uint_eq(replicas_of(work, id, &replicas), 4);
    ck_assert_str_eq(volume_at(work, id, "spec.removing"), "null");
    report(work, &replicas[3], "{\"phase\":\"Healthy\"}");
    report_served(work, id, 3, "Rebuilding");
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.removing"), "null");
    report_served(work, id, -1, NULL);
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.removing"),
                     arena_format(work->arena, "\"%s\"", replicas[2].id));
}

WORK_TEST(a_replica_leaves_the_vote_and_then_its_data_go) {
    const char *id = served(work);
    struct document *replicas = NULL;

    OK(edit(work, id, TWO, err));
    OK(settle(work, id));
    replicas_of(work, id, &replicas);
    ck_assert_str_eq(volume_at(work, id, "spec.removing"),
                     arena_format(work->arena, "\"%s\"", replicas[1].id));
    ck_assert_str_eq(volume_at(work, id, "spec.replicationFactor"), "2");
    ck_assert_int_eq(replicas[1].deleted_at, 0);
    report_served(work, id, -1, NULL); /* its node has seen that, and still has it in the quorum */
    OK(settle(work, id));
    replicas_of(work, id, &replicas);
    ck_assert_int_eq(replicas[1].deleted_at, 0);
    report_served(work, id, 1, NULL);
    OK(settle(work, id));
    replicas_of(work, id, &replicas);
    ck_assert_int_ne(replicas[1].deleted_at, 0);
    ck_assert_str_eq(volume_at(work, id, "spec.removing"), "null");
    ck_assert_str_eq(config_at(work, id, "status.poolInfo"), "[\"pool-a\",\"pool-b\",\"pool-c\"]");
    report(work, &replicas[1], "{\"phase\":\"Deleted\"}");
    report_served(work, id, -1, NULL);
    OK(settle(work, id));
    ck_assert_uint_eq(replicas_of(work, id, &replicas), 2);
    ck_assert_str_eq(config_at(work, id, "status.poolInfo"), "[\"pool-a\",\"pool-c\"]");
    ck_assert_str_eq(config_at(work, id, "status.phase"), BOUND);
    ck_assert_str_eq(conditions_at(work, id), "null");
}

WORK_TEST(no_replica_is_removed_while_another_is_unhealthy_or_the_volume_not_served) {
    const char *id = served(work);
    struct document *replicas = NULL;

    report_served(work, id, 2, "Offline");
    OK(edit(work, id, TWO, err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.removing"), "null");
    replicas_of(work, id, &replicas);
    ck_assert_ptr_nonnull(strstr(
        conditions_at(work, id),
        arena_format(work->arena, "is removed when replica %s is healthy.", replicas[2].id)));
    report_served(work, id, -1, NULL);
    report(work, &replicas[0], "{\"phase\":\"Degraded\"}");
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.removing"), "null");
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    OK(settle(work, id));
    report_made(work, id);
    report_stopped(work, id);
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "spec.removing"), "null");
    ck_assert_ptr_nonnull(
        strstr(conditions_at(work, id), "is removed while the volume is served."));
    ck_assert_str_eq(config_at(work, id, "status.phase"), RECONCILING);
}

WORK_TEST(a_change_of_pools_can_be_undone) {
    const char *id = served(work);

    report_served(work, id, 2, "Offline");
    OK(edit(work, id, TWO, err));
    OK(settle(work, id));
    REFUSED(edit(work, id, FOUR, err), CONFLICT);
    OK(edit(work, id,
            "{\"spec\":{\"policy\":{\"replicaPoolInfo\":[" POOL("pool-c") "," POOL(
                "pool-a") "," POOL("pool-b") "]}}}",
            err));
    OK(settle(work, id));
    ck_assert_str_eq(config_at(work, id, "status.phase"), BOUND);
    ck_assert_str_eq(conditions_at(work, id), "null");
    ck_assert_uint_eq(replicas_of(work, id, &(struct document *){ NULL }), 3);
}

/* ---- the end ---- */

static void delete_config(struct work *work, const char *id) {
    struct document config = config_of(work, id), after;
    struct error err = { 0 };

    ck_assert_msg(document_delete(work, &config, false, &after, &err) == 0, "%s", err.message);
}

WORK_TEST(a_deleted_config_leaves_nothing_when_the_data_are_gone) {
    const char *id = bound(work);
    struct document *replicas = NULL;

    delete_config(work, id);
    OK(settle(work, id));
    ck_assert_uint_eq(replicas_of(work, id, &replicas), 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_ne(replicas[i].deleted_at, 0);
        ck_assert_int_eq(sql_int(work, "SELECT COUNT(*) FROM documents"), 5 - i);
        report(work, &replicas[i], "{\"phase\":\"Deleted\"}");
        OK(settle(work, id));
    }
    ck_assert_int_eq(sql_int(work, "SELECT COUNT(*) FROM documents"), 0);
    ck_assert_int_eq(sql_int(work, "SELECT COUNT(*) FROM document_events"), 0);
}

WORK_TEST(data_are_removed_when_they_are_no_longer_served) {
    const char *id = served(work);
    struct document *replicas = NULL;

    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    delete_config(work, id);
    OK(settle(work, id));
    replicas_of(work, id, &replicas);
    ck_assert_int_eq(replicas[0].deleted_at, 0);
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"\"");
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    report_stopped(work, id);
    OK(settle(work, id));
    replicas_of(work, id, &replicas);
    ck_assert_int_ne(replicas[0].deleted_at, 0);
}

WORK_TEST(data_that_cannot_be_removed_are_reported_once) {
    const char *id = bound(work);
    struct document *replicas = NULL;
    int64_t events;

    delete_config(work, id);
    OK(settle(work, id));
    replicas_of(work, id, &replicas);
    report(work, &replicas[1], "{\"phase\":\"DeletionFailed\",\"message\":\"/srv: busy\"}");
    OK(settle(work, id));
    ck_assert_str_eq(
        last_event(work, id),
        arena_format(work->arena,
                     "Warning ReplicaDeletionFailed 1: The data of replica %s cannot be "
                     "removed yet.",
                     replicas[1].id));
    events = sql_int(work, "SELECT SUM(times) FROM document_events");
    OK(settle(work, id));
    replicas_of(work, id, &replicas);
    report(work, &replicas[1], "{\"phase\":\"DeletionFailed\",\"message\":\"/srv: gone\"}");
    OK(settle(work, id));
    ck_assert_int_eq(sql_int(work, "SELECT SUM(times) FROM document_events"), events);
    replicas_of(work, id, &replicas);
    report(work, &replicas[1], "{\"phase\":\"Deleted\"}");
    OK(settle(work, id));
    ck_assert_str_eq(conditions_at(work, id), "null");
    ck_assert_uint_eq(replicas_of(work, id, &replicas), 2);
}

WORK_TEST(a_config_without_a_volume_is_deleted_at_once) {
    const char *id = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 3, ""));

    delete_config(work, id);
    OK(settle(work, id));
    ck_assert_int_eq(sql_int(work, "SELECT COUNT(*) FROM documents"), 0);
    OK(reconcile_config(work, id, err)); /* and a late call finds nothing */
    OK(reconcile_evaluate(work, id, NULL, err));
}

WORK_TEST(a_replica_has_the_address_of_its_pool) {
    const char *id = served(work), *before = volume_at(work, id, "spec.replicas");
    struct replica_pool pool, said = { .id = "pool-b",
                                       .node = "host-b",
                                       .path = "/pool",
                                       .labels = json_keep(work->arena, json_object()),
                                       .address = "host-b:10810",
                                       .state = "Online" };
    int64_t epoch = volume_epoch(work, id);

    OK(replica_pool_report(work, &said, &pool, err));
    settle(work, id);
    ck_assert_str_ne(volume_at(work, id, "spec.replicas"), before);
    ck_assert_ptr_nonnull(strstr(volume_at(work, id, "spec.replicas"),
                                 "\"nodeId\":\"host-b\",\"path\":\"/pool\","
                                 "\"address\":\"host-b:10810\"}"));
    ck_assert_int_eq(volume_epoch(work, id), epoch);
    sql(work, "UPDATE replica_pools SET node = 'host-x' WHERE name = 'pool-b'");
    settle(work, id);
    ck_assert_str_eq(volume_at(work, id, "spec.replicas"), before);
}

/* P46: nothing exists without its owner, however that was removed. */
WORK_TEST(nothing_outlives_its_owner) {
    const char *id = bound(work);

    (void)err;
    sql(work, "DELETE FROM documents WHERE id = '%s'", id);
    ck_assert_int_eq(sql_int(work, "SELECT COUNT(*) FROM documents"), 0);
}

CHECK_MAIN("reconcile", an_epoch_that_replicas_know_to_be_over_is_renewed,
           epochs_grow_by_steps_that_do_not_repeat, other_hosts_are_admitted_where_it_is_served,
           a_config_gets_a_volume_and_replicas_and_is_bound_when_they_are_made,
           the_volume_has_the_settings_of_its_policy, without_a_policy_the_defaults_count,
           a_missing_policy_is_reported_and_awaited, too_few_pools_create_nothing_and_are_reported,
           a_replica_that_cannot_be_made_is_reported,
           a_bound_config_stays_bound_whatever_becomes_of_its_replicas,
           a_config_is_served_only_once_it_is_bound,
           another_node_gets_it_when_the_first_reports_its_stop,
           a_volume_is_revoked_at_once_from_a_node_without_a_claim,
           a_volume_is_revoked_from_a_node_with_a_claim_by_its_report_alone,
           a_published_volume_is_not_served_yet_before_the_controller_assigns_it,
           a_volume_published_again_behind_its_stop_is_not_served_yet,
           a_published_volume_has_no_phase_of_its_former_node,
           a_target_without_an_epoch_is_taken_for_the_present_ones, the_export_is_a_file_on_request,
           a_node_that_is_assigned_again_continues, a_volume_that_is_not_served_grows_at_once,
           a_volume_in_use_has_grown_when_its_node_reports_it,
           a_failed_extend_is_reported_once_and_retried,
           a_size_requested_before_it_is_bound_is_applied_afterwards, a_volume_has_whole_blocks,
           an_edited_policy_is_reconciling_until_the_node_has_made_it_true,
           limits_of_clients_are_edited_and_reset,
           a_new_pool_counts_when_its_replica_has_been_rebuilt,
           a_pool_without_space_for_a_replica_is_reported_and_awaited,
           no_replica_leaves_before_the_one_that_comes_for_it_is_made_and_rebuilt,
           a_replica_leaves_the_vote_and_then_its_data_go,
           no_replica_is_removed_while_another_is_unhealthy_or_the_volume_not_served,
           a_change_of_pools_can_be_undone, a_deleted_config_leaves_nothing_when_the_data_are_gone,
           data_that_cannot_be_removed_are_reported_once,
           data_are_removed_when_they_are_no_longer_served,
           a_config_without_a_volume_is_deleted_at_once, a_replica_has_the_address_of_its_pool,
           nothing_outlives_its_owner)

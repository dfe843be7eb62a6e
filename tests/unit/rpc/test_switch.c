#include "rpc/switch.h"

#include "tests/lib/check_main.h"

#include <string.h>

static int consume(void *arg, const struct rpc_message *message, struct error *err) {
    (void)err;
    strcat(arg, message->topic);
    strcat(arg, " ");
    return 0;
}

static void confirm(void *arg, bool taken) {
    *(int *)arg += taken ? 1 : 100;
}

static int publish(struct rpc *rpc, const char *topic, int *confirmed) {
    const struct rpc_message message = {
        .topic = topic, .method = "m", .key = "k", .payload = "{}"
    };

    return rpc->engine->publish(rpc, &message, confirm, confirmed, NULL);
}

START_TEST(messages_go_by_the_beginning_of_their_topic) {
    const char *const prefixes[] = { "notifications.", "other.", NULL };
    struct rpc *first = rpc_local_new(0), *second = rpc_local_new(0);
    struct rpc *rpc = rpc_switch_new(first, second, prefixes);
    char seen_first[100] = "", seen_second[100] = "";
    struct error err = { 0 };
    int confirmed = 0;

    ck_assert_int_eq(rpc->engine->reaches(rpc, "a"), RPC_NOWHERE);
    ck_assert_int_eq(rpc->engine->reaches(rpc, "other.info"), RPC_NOWHERE);
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "a", consume, seen_first, &err), 0);
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "other.info", consume, seen_second, &err), 0);
    ck_assert_int_eq(rpc->engine->reaches(rpc, "a"), RPC_HERE);
    ck_assert_int_eq(rpc->engine->reaches(rpc, "other.info"), RPC_HERE);
    ck_assert_int_eq(rpc->engine->reaches(rpc, "notifications.info"), RPC_NOWHERE);
    ck_assert_int_eq(publish(rpc, "a", &confirmed), 0);
    ck_assert_int_eq(publish(rpc, "other.info", &confirmed), 0);
    ck_assert_int_eq(publish(rpc, "notifications.info", &confirmed), -1);
    ck_assert(rpc_local_step(first, 0) && !rpc_local_step(first, 0));
    ck_assert(rpc_local_step(second, 0) && !rpc_local_step(second, 0));
    ck_assert_str_eq(seen_first, "a ");
    ck_assert_str_eq(seen_second, "other.info ");
    ck_assert_int_eq(confirmed, 2);
    ck_assert_int_eq(publish(rpc, "a", &confirmed), 0);
    rpc->engine->stop(rpc);
    ck_assert_int_eq(confirmed, 102);
}
END_TEST

CHECK_MAIN("switch", messages_go_by_the_beginning_of_their_topic)

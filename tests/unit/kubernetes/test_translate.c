#include "kubernetes/translate.h"

#include "tests/lib/small_stack.h"
#include "tests/unit/kubernetes/quoted.h"

#define HEAD   "'apiVersion':'cstor.openebs.io/v1','kind':'CStorVolumeConfig',"
#define NOW    "2026-01-02T03:04:05Z"
#define LABELS "\"metadata\":{\"labels\":{},\"annotations\":{}},"

static const struct verdict taken = { "True", "Applied", "well" };

static const char *of(const json_t *tree, const char *outer, const char *inner) {
    return json_text_of(json_object_get(tree, outer), inner);
}

START_TEST(namespaces_never_meet) {
    autoarena struct arena *arena = arena_new();

    ck_assert_str_eq(translate_name(arena, "a", "b.c"), "a.b.c");
    ck_assert_str_ne(translate_name(arena, "a", "b"), translate_name(arena, "b", "a"));
}
END_TEST

START_TEST(documents_have_names_of_their_own) {
    autoarena struct arena *arena = arena_new();
    const json_t *document = translate_document(
        arena,
        tree(arena, "{" HEAD "'metadata':{'name':'n','namespace':'s','uid':'u','generation':3,"
                    "'resourceVersion':'77','finalizers':['x/y'],"
                    "'labels':{'app':'db','openebs.io/volume-policy':'slow',"
                    "'scoria.io/volume':'1','csi.scoria.io/a':'2','notscoria.io/a':'3',"
                    "'openebs.io/source-volume':'t.v'},"
                    "'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'{}',"
                    "'openebs.io/volume-policy':'fast','cas.openebs.io/a':'b',"
                    "'notopenebs.io/a':'c','plain':'d'}},"
                    "'spec':{'cstorVolumeSource':'v@1'},'status':{'phase':'x'}}"),
        NULL);

    ck_assert_str_eq(
        json_text(arena, json_object_get(document, "metadata")),
        quoted(
            arena,
            "{'name':'s.n','labels':{'app':'db','notscoria.io/a':'3','openebs.io/source-volume':'s.v'},'annotations':{"
            "'openebs.io/volume-policy':'s.fast','cas.openebs.io/a':'b',"
            "'kubernetes.scoria.io/uid':'u'}}"));
    ck_assert_str_eq(of(document, "spec", "cstorVolumeSource"), "s.v@s.1");
    ck_assert_ptr_null(json_object_get(document, "status"));
}
END_TEST

START_TEST(a_snapshot_is_of_a_config_of_its_namespace) {
    autoarena struct arena *arena = arena_new();
    const json_t *object = tree(arena, "{'kind':'CStorVolumeSnapshot','metadata':{'name':'n',"
                                       "'namespace':'s','uid':'u'},'spec':{'volumeName':'v'},"
                                       "'status':{'phase':'Pending'}}");
    const json_t *document = translate_document(arena, object, NULL);

    ck_assert_str_eq(of(document, "metadata", "name"), "s.n");
    ck_assert_str_eq(of(document, "spec", "volumeName"), "s.v");
    ck_assert(!translate_was_taken(object));
    ck_assert(translate_was_taken(tree(arena, "{'kind':'CStorVolumeSnapshot','status':{"
                                              "'creationTime':'" NOW "'}}")));
    ck_assert(!translate_was_taken(tree(arena, "{" HEAD "'status':{'creationTime':'x'}}")));
}
END_TEST

START_TEST(a_config_is_reverted_to_a_snapshot_of_its_namespace) {
    autoarena struct arena *arena = arena_new();
    const json_t *object = tree(arena, "{" HEAD "'metadata':{'name':'n','namespace':'s','uid':'u'},"
                                       "'spec':{'revert':{'snapshotName':'1','request':'r'}}}");
    const json_t *revert =
        json_object_get(json_object_get(translate_document(arena, object, NULL), "spec"), "revert");

    ck_assert_str_eq(json_text_of(revert, "snapshotName"), "s.1");
    ck_assert_str_eq(json_text_of(revert, "request"), "r");
}
END_TEST

START_TEST(an_existing_clone_keeps_its_source) {
    autoarena struct arena *arena = arena_new();
    const json_t *object = tree(arena, "{" HEAD "'metadata':{'name':'n','namespace':'s','uid':'u'},"
                                       "'spec':{'cstorVolumeSource':'v@1'}}");

    ck_assert_str_eq(
        of(translate_document(arena, object, tree(arena, "{'spec':{'cstorVolumeSource':'s.v@1'}}")),
           "spec", "cstorVolumeSource"),
        "s.v@1");
    ck_assert_str_eq(
        of(translate_document(arena, object, tree(arena, "{'spec':{'cstorVolumeSource':'s.w@1'}}")),
           "spec", "cstorVolumeSource"),
        "s.v@s.1");
}
END_TEST

START_TEST(a_volume_may_be_named_without_a_clone) {
    autoarena struct arena *arena = arena_new();
    const json_t *document =
        translate_document(arena,
                           tree(arena, "{'metadata':{'name':'n','namespace':'s','uid':'u',"
                                       "'labels':{'openebs.io/source-volume':'t.v'}},'spec':{}}"),
                           NULL);

    ck_assert_str_eq(
        of(json_object_get(document, "metadata"), "labels", "openebs.io/source-volume"), "s.t.v");
}
END_TEST

START_TEST(a_policy_may_be_named_by_a_label) {
    autoarena struct arena *arena = arena_new();
    const json_t *document =
        translate_document(arena,
                           tree(arena, "{'metadata':{'name':'n','namespace':'s','uid':'u',"
                                       "'labels':{'openebs.io/volume-policy':'slow'}},'spec':{}}"),
                           NULL);
    const json_t *metadata = json_object_get(document, "metadata");

    ck_assert_str_eq(of(metadata, "annotations", "openebs.io/volume-policy"), "s.slow");
    ck_assert_uint_eq(json_object_size(json_object_get(metadata, "labels")), 0);
}
END_TEST

START_TEST(an_edit_names_the_read_version_and_keeps_our_fields) {
    autoarena struct arena *arena = arena_new();
    const json_t *ours = tree(arena, "{'metadata':{'uid':'d','resourceVersion':'9',"
                                     "'finalizers':['f/g']},'publish':{'nodeId':'host-a'}}");
    json_t *object = tree(arena, "{'metadata':{'name':'n','namespace':'s','uid':'u'},'spec':{},"
                                 "'publish':{}}");
    const json_t *document = translate_document(arena, object, ours);

    ck_assert_str_eq(of(document, "metadata", "resourceVersion"), "9");
    ck_assert_str_eq(of(document, "metadata", "uid"), "d");
    ck_assert_uint_eq(
        json_array_size(json_object_get(json_object_get(document, "metadata"), "finalizers")), 1);
    ck_assert_str_eq(of(document, "publish", "nodeId"), "host-a");
    json_object_set_new(json_object_get(object, "publish"), "nodeId", json_string(""));
    document = translate_document(arena, object, ours);
    ck_assert_str_eq(of(document, "publish", "nodeId"), "");
}
END_TEST

START_TEST(reported_fields_are_found_among_existing_ones) {
    static const struct {
        const char *ours, *document;
        bool is_reported;
    } pairs[] = {
        { "{'spec':{'a':1,'b':2}}", "{'spec':{'a':1}}", true },
        { "{'spec':{'a':1}}", "{'spec':{'a':2}}", false },
        { "{'spec':{'a':'32'}}", "{'spec':{'a':32}}", true },
        { "{'spec':{'a':'32'}}", "{'spec':{'a':33}}", false },
        { "{'spec':{'a':[{'x':1,'y':2}]}}", "{'spec':{'a':[{'x':1}]}}", true },
        { "{'spec':{'a':[1,2]}}", "{'spec':{'a':[1]}}", false },
        { "{'spec':{}}", "{'spec':{'a':{}}}", false },
        { "{'spec':{}}", "{'spec':{'cstorVolumeRef':{'name':'x'}}}", true },
        { "{'spec':{},'publish':{'nodeId':'a'}}", "{'spec':{},'publish':{'nodeId':'b'}}", false },
        { "{'metadata':{'labels':{'a':'b'}},'spec':{}}", "{'spec':{}}", false },
        { "{'metadata':{'annotations':{'a':'b'}},'spec':{}}",
          "{'metadata':{'annotations':{'a':'c'}},'spec':{}}", false },
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        autoarena struct arena *arena = arena_new();
        json_t *ours = tree(arena, pairs[i].ours), *document = tree(arena, pairs[i].document);

        if (!json_object_get(ours, "metadata")) {
            json_object_set(ours, "metadata", tree(arena, "{'labels':{},'annotations':{}}"));
            json_object_set(document, "metadata", tree(arena, "{'labels':{},'annotations':{}}"));
        }
        ck_assert_msg(translate_is_sent(ours, document) == pairs[i].is_reported, "%s %s",
                      pairs[i].ours, pairs[i].document);
    }
}
END_TEST

START_TEST(a_status_has_ours_and_whether_it_was_taken) {
    autoarena struct arena *arena = arena_new();
    json_t *object = tree(arena, "{'metadata':{'generation':4},'status':{'phase':'old'}}");
    const json_t *ours = tree(arena, "{'status':{'phase':'Bound','conditions':["
                                     "{'type':'Resizing','status':'True'}]}}");
    json_t *status = translate_status(arena, object, ours, &taken, NOW);

    ck_assert_str_eq(json_text(arena, status),
                     quoted(arena, "{'phase':'Bound','conditions':[{'type':'Resizing',"
                                   "'status':'True'},{'type':'Applied','status':'True',"
                                   "'reason':'Applied','message':'well','lastTransitionTime':'" NOW
                                   "'}],'observedGeneration':4}"));
    json_object_set(object, "status", status);
    ck_assert(json_equal(translate_status(arena, object, ours, &taken, "later"), status));
}
END_TEST

START_TEST(a_condition_has_a_new_time_when_it_turns) {
    static const struct verdict refused = { "False", "Refused", "no" };
    autoarena struct arena *arena = arena_new();
    json_t *object = tree(arena, "{'metadata':{'generation':4},'status':{'phase':'old'}}");
    const char *text;

    json_object_set(object, "status", translate_status(arena, object, NULL, &taken, NOW));
    text = json_text(arena, translate_status(arena, object, NULL, &refused, "later"));
    ck_assert_ptr_nonnull(strstr(text, "later"));
    ck_assert_ptr_null(strstr(text, NOW));
    ck_assert_ptr_nonnull(strstr(text, "\"phase\":\"old\""));
}
END_TEST

START_TEST(defaults_of_the_service_are_written_to_the_object_once) {
    autoarena struct arena *arena = arena_new();
    const json_t *ours = tree(arena, "{'spec':{'cstorVolumeRef':{'name':'v'},'policy':{'a':1},"
                                     "'provision':{'capacity':{'storage':'1Gi'}}}}");
    const json_t *object = tree(arena, "{'metadata':{},'spec':{'provision':{'replicaCount':3}}}");
    const json_t *whole = translate_spec_back(arena, object, ours);

    ck_assert_ptr_nonnull(whole);
    ck_assert_str_eq(json_text(arena, json_object_get(whole, "spec")),
                     quoted(arena, "{'provision':{'replicaCount':3,'capacity':{'storage':'1Gi'}},"
                                   "'cstorVolumeRef':{'name':'v'},'policy':{'a':1}}"));
    ck_assert_ptr_null(translate_spec_back(arena, whole, ours));
    ck_assert_ptr_null(translate_spec_back(
        arena, object, tree(arena, "{'spec':{'provision':{'replicaCount':3}}}")));
}
END_TEST

START_TEST(a_finalizer_is_added_beside_others) {
    autoarena struct arena *arena = arena_new();
    const json_t *object = tree(arena, "{'metadata':{'finalizers':['a/b']}}");
    const json_t *held = object_with_finalizer(arena, object, true);

    ck_assert(!object_has_finalizer(object));
    ck_assert(object_has_finalizer(held));
    ck_assert(json_equal(object_with_finalizer(arena, held, true), held));
    ck_assert(json_equal(object_with_finalizer(arena, held, false), object));
}
END_TEST

static void *compare_objects(void *text) {
    autoarena struct arena *arena = arena_new();
    struct error err;
    const json_t *tree = json_parse(arena, text, strlen(text), &err);

    ck_assert(translate_is_sent(tree, tree));
    return NULL;
}

START_TEST(objects_of_a_cluster_of_the_accepted_depth_are_compared) {
    autoarena struct arena *arena = arena_new();
    char *objects = nested(arena, SMALL_STACK_JSON - 1, "{\"a\":", "1", "}");
    char *lists = nested(arena, SMALL_STACK_JSON - 2, "[", "1", "]");

    on_small_stack(compare_objects, arena_format(arena, "{" LABELS "\"spec\":%s}", objects));
    on_small_stack(compare_objects, arena_format(arena, "{" LABELS "\"spec\":{\"a\":%s}}", lists));
}
END_TEST

CHECK_MAIN("translate", namespaces_never_meet, documents_have_names_of_their_own,
           a_snapshot_is_of_a_config_of_its_namespace, an_existing_clone_keeps_its_source,
           a_config_is_reverted_to_a_snapshot_of_its_namespace,
           a_volume_may_be_named_without_a_clone, a_policy_may_be_named_by_a_label,
           an_edit_names_the_read_version_and_keeps_our_fields,
           reported_fields_are_found_among_existing_ones,
           a_status_has_ours_and_whether_it_was_taken, a_condition_has_a_new_time_when_it_turns,
           defaults_of_the_service_are_written_to_the_object_once,
           a_finalizer_is_added_beside_others,
           objects_of_a_cluster_of_the_accepted_depth_are_compared)
